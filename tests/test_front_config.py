"""Settings: which place wins, and that a mistake is told with the nearest right name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rowhop import config
from rowhop.errors import ConfigError


def write(folder: Path, text: str) -> None:
    (folder / "rowhop.toml").write_text(text, encoding="utf-8")


def test_defaults_need_no_file_and_no_environment(in_folder: Path) -> None:
    settings = config.load()
    assert settings.ask.samples == 1
    assert settings.share.data == "samples"
    assert settings.model.name == ""
    assert settings.cache_folder == Path.home() / ".cache" / "rowhop"


def test_options_win_over_environment_over_file(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(in_folder, '[model]\nname = "from-file"\nbase_url = "http://file"\n[ask]\nsamples = 4\nmethod = "ppoga"\n')
    monkeypatch.setenv("ROWHOP_MODEL", "from-environment")
    monkeypatch.setenv("ROWHOP_METHOD", "pasemiqa")
    settings = config.load({"ask": {"method": "pandora"}})
    assert (settings.model.name, settings.model.base_url) == ("from-environment", "http://file")
    assert (settings.ask.samples, settings.ask.method) == (4, "pandora")


def test_the_file_is_found_upward_and_its_paths_count_from_it(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(in_folder, '[sources]\nshop = "data/shop"\nlib = "postgresql://me:${PW}@db/lib"\n[ask]\nnotes = "n.md"\n')
    below = in_folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    settings = config.load()
    assert Path(settings.sources["shop"].path) == in_folder / "data" / "shop"
    assert settings.sources["lib"].path == "postgresql://me:${PW}@db/lib"
    assert settings.ask.notes == in_folder / "n.md"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ask]\nsampels = 3\n", ("ask.sampels", "Did you mean samples?", "rowhop.toml")),
        ("[aks]\n", ("aks", "Did you mean ask?")),
        ('[sources.x]\npath = "a.csv"\nencodign = "x"\n', ("sources.x.encodign", "encoding")),
        ("[ask]\nsamples = 0\n", ("ask.samples", "greater than or equal to 1")),
        ('[share]\ndata = "everything"\n', ("share.data", "'schema', 'samples' or 'all'")),
        ("[ask\n", ("not valid TOML",)),
    ],
)
def test_a_mistake_in_the_file_is_told(in_folder: Path, text: str, words: tuple[str, ...]) -> None:
    write(in_folder, text)
    with pytest.raises(ConfigError) as told:
        config.load()
    assert all(word in str(told.value) for word in words), told.value


def test_a_misspelt_variable_is_told(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWHOP_MODLE", "x")
    with pytest.raises(ConfigError, match="Did you mean ROWHOP_MODEL"):
        config.load()


def test_a_key_is_never_shown(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = config.load()
    assert settings.model.api_key.get_secret_value() == "sk-secret"
    changed = config.changed(settings, {"ask": {"samples": 2}})
    assert changed.model.api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in f"{settings!r}{changed}{settings.model_dump_json()}"


def test_variables_in_a_source_are_encoded_for_a_url() -> None:
    values = {"PW": "p@ss/word", "URL": "sqlite:///a.db"}
    assert config.expand("mysql://me:${PW}@h/db", values) == "mysql://me:p%40ss%2Fword@h/db"
    assert config.expand("${URL}", values) == "sqlite:///a.db"
    with pytest.raises(ConfigError, match="MISSING, which is not set"):
        config.expand("${MISSING}", values)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("calls=5,seconds=60,tokens=20000,money=0.10", {"calls": 5, "seconds": 60, "tokens": 20000, "money": 0.1}),
        (" calls = 2 ,", {"calls": 2}),
    ],
)
def test_a_budget(text: str, limits: dict[str, float]) -> None:
    assert config.budget(text) == limits


@pytest.mark.parametrize(
    ("text", "words"),
    [("cals=5", "Did you mean calls?"), ("calls=few", "not a number: 'few'"), ("seconds", "not a number: ''")],
)
def test_a_budget_that_is_not_one(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as told:
        config.budget(text)
    assert words in str(told.value)


@pytest.mark.parametrize("limits", [{"calls": 0}, {"money": -1}])
def test_a_budget_of_nothing_is_refused(in_folder: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="greater than"):
        config.load({"budget": limits})
