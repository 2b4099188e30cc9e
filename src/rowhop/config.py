"""Settings: defaults, then `rowhop.toml` (searched upward), then the environment, then options.

Nothing is read until `load` is called, and no secret is shown by `repr`. What is built from the settings is
decided in `rowhop.build`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from rowhop.errors import ConfigError
from rowhop.memory import How
from rowhop.trace import Budget

FILE = "rowhop.toml"
EMBEDDED = "qwen2.5-coder-1.5b"

Method = Literal["auto", "pandora", "ppoga", "pasemiqa"]
Share = Literal["schema", "samples", "all"]
Language = Literal["auto", "python", "sql", "native"]

# Environment variable → where its value goes.
ENVIRONMENT: Mapping[str, tuple[str, str]] = {
    "OPENAI_API_KEY": ("model", "api_key"),
    "OPENAI_BASE_URL": ("model", "base_url"),
    "ROWHOP_MODEL": ("model", "name"),
    "ROWHOP_PRICES": ("model", "prices"),
    "ROWHOP_EMBEDDER": ("embedder", "name"),
    "ROWHOP_CACHE": ("cache", "folder"),
    "ROWHOP_METHOD": ("ask", "method"),
    "ROWHOP_LANGUAGE": ("ask", "language"),
    "ROWHOP_NOTES": ("ask", "notes"),
    "ROWHOP_MEMORY": ("memory", "file"),
    "ROWHOP_SHARE": ("share", "data"),
}
# Read elsewhere: the tests' data, tracebacks for developers.
_OTHER_VARIABLES = ("ROWHOP_DEBUG", "ROWHOP_BENCH_DATA")
# Values that are paths: in a settings file they count from that file's folder.
_PATHS = (("ask", "notes"), ("model", "prices"), ("cache", "folder"), ("memory", "file"))


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReadingSettings(_Section):
    """How files are read where finding out is not enough."""

    encoding: str = ""
    delimiter: str = ""
    decimal: Literal["", ".", ","] = ""
    day_first: bool | None = None
    header_rows: int | None = None
    text_columns: tuple[str, ...] = ()


class SourceSettings(ReadingSettings):
    """A named source; what it says about reading wins over the section `reading`."""

    path: str


class ModelSettings(_Section):
    """`name`: an embedded model, a .gguf file, or a model of the endpoint at `base_url`."""

    name: str = ""
    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    prices: Path | None = None
    threads: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=120.0, gt=0)


class EmbedderSettings(_Section):
    """`name`: empty for the embedded one, "spelling" for none, a folder with an ONNX model, or a model of the endpoint
    at `base_url`."""

    name: str = ""
    base_url: str = ""
    query_prefix: str = ""
    pooling: Literal["", "mean", "cls"] = ""  # empty: as the folder says


class AskSettings(_Section):
    method: Method = "auto"
    language: Language = "auto"
    samples: int = Field(default=1, ge=1, le=50)
    repairs: int = Field(default=3, ge=0, le=10)
    demonstrations: int | None = Field(default=None, ge=0)
    prompt_tokens: int | None = Field(default=None, ge=100)
    empty_is_failure: bool = True
    notes: Path | None = None
    unsafe_run: bool = False


class BudgetSettings(_Section):
    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    money: float | None = Field(default=None, gt=0)

    def budget(self) -> Budget:
        return Budget(self.calls, self.tokens, self.seconds, self.money)


class ShareSettings(_Section):
    """What of the data may enter a prompt, and columns that never do."""

    data: Share = "samples"
    hide: tuple[str, ...] = ()


class CacheSettings(_Section):
    folder: Path | None = None
    replies: bool = True


class MemorySettings(_Section):
    """`file` holds entries of the user's own, `recall` says which become demonstrations, `dataset` whose entries are
    "own" (without it: those of the source that is asked)."""

    file: Path | None = None
    recall: How = "auto"
    dataset: str = ""
    seed: int = 0


class Settings(BaseSettings):
    """Everything that can be set, by section of `rowhop.toml`."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    reading: ReadingSettings = ReadingSettings()
    model: ModelSettings = ModelSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    ask: AskSettings = AskSettings()
    budget: BudgetSettings = BudgetSettings()
    share: ShareSettings = ShareSettings()
    cache: CacheSettings = CacheSettings()
    memory: MemorySettings = MemorySettings()

    @field_validator("sources", mode="before")
    @classmethod
    def _paths(cls, named: Any) -> Any:
        if not isinstance(named, dict):
            return named
        return {name: {"path": s} if isinstance(s, str) else s for name, s in named.items()}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # Layers come in through `load`, each from a place it has named; nothing is picked up by itself.
        kwargs = init_settings.init_kwargs if isinstance(init_settings, InitSettingsSource) else {}
        layers = kwargs.get("layers", (kwargs,))
        return tuple(InitSettingsSource(settings_cls, layer) for layer in layers)

    @property
    def cache_folder(self) -> Path:
        return self.cache.folder or default_cache()

    @property
    def memory_file(self) -> Path:
        return self.memory.file or default_data() / "memory.jsonl"


def default_cache() -> Path:
    """The user's cache folder for rowhop; it is not made here."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "rowhop"


def default_data() -> Path:
    """Where what the user taught is kept: it cannot be fetched again, so it does not lie in a cache."""
    base = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".local" / "share") / "rowhop"


def load(options: Mapping[str, Any] | None = None, folder: Path | None = None) -> Settings:
    """Settings for a run: file below environment below `options` (nested by section). Raises ConfigError.

    >>> load({"ask": {"samples": 3}}).ask.samples
    3
    """
    file = find(folder or Path.cwd())
    layers = [dict(options or {}), environment(os.environ), read(file) if file else {}]
    try:
        return Settings(layers=layers)  # type: ignore[call-arg]
    except ValidationError as error:
        raise ConfigError(_in_words(error, file)) from None


def changed(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """The same settings with `options` (nested by section) on top. Raises ConfigError."""
    try:
        return Settings(layers=[dict(options), settings.model_dump(exclude_unset=True)])  # type: ignore[call-arg]
    except ValidationError as error:
        raise ConfigError(_in_words(error, None)) from None


def find(folder: Path) -> Path | None:
    """The nearest `rowhop.toml`, from `folder` upward."""
    for place in (folder.resolve(), *folder.resolve().parents):
        if (place / FILE).is_file():
            return place / FILE
    return None


def read(file: Path) -> dict[str, Any]:
    """A settings file as nested values, its paths made absolute. Raises ConfigError."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"The settings in {file} could not be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.") from error
    for section, key in _PATHS:
        inner = values.get(section)
        if isinstance(inner, dict) and isinstance(inner.get(key), str):
            inner[key] = str(file.parent / Path(inner[key]).expanduser())
    named = values.get("sources")
    if isinstance(named, dict):
        values["sources"] = {name: _from(file.parent, value) for name, value in named.items()}
    return values


def environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """What the environment sets. A variable that is nearly one of ours is an error, not silence."""
    known = [*ENVIRONMENT, *_OTHER_VARIABLES]
    for name in variables:
        if name.startswith("ROWHOP_") and name not in known and (near := get_close_matches(name, known, 1, 0.85)):
            raise ConfigError(f"There is no setting {name} in the environment. Did you mean {near[0]}?")
    values: dict[str, dict[str, str]] = {}
    for name, (section, key) in ENVIRONMENT.items():
        if variables.get(name):
            values.setdefault(section, {})[key] = variables[name]
    return values


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Put environment variables in place of `${NAME}`; inside a URL their values are percent-encoded.

    >>> expand("postgresql://me:${PW}@host/db", {"PW": "a@b"})
    'postgresql://me:a%40b@host/db'
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in variables:
            raise ConfigError(f"A source needs the environment variable {name}, which is not set.")
        whole = match.group(0) == text
        return quote(variables[name], safe="") if "://" in text and not whole else variables[name]

    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", value, text)


def budget(text: str) -> dict[str, float]:
    """The option `--budget`, e.g. "calls=5,seconds=60,tokens=20000,money=0.10". Raises ConfigError."""
    limits: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, number = (p.strip() for p in part.partition("="))
        if name not in BudgetSettings.model_fields:
            raise ConfigError(f"A budget has no limit {name!r}.{nearest(name, BudgetSettings.model_fields)}")
        try:
            limits[name] = float(number) if name in ("seconds", "money") else int(number)
        except ValueError:
            raise ConfigError(f"The budget for {name} is not a number: {number!r}. Write e.g. {name}=5.") from None
    return limits


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest name, or all of them."""
    known = list(known)
    near = get_close_matches(name.lower(), [k.lower() for k in known], 1, 0.6)
    match = next((k for k in known if near and k.lower() == near[0]), "")
    return f" Did you mean {match}?" if match else f" There are: {', '.join(known)}." if known else ""


def _from(folder: Path, source: Any) -> Any:
    if isinstance(source, dict):
        return {**source, "path": _from(folder, source["path"])} if isinstance(source.get("path"), str) else source
    if not isinstance(source, str) or "://" in source or source.startswith("${"):
        return source
    return str(folder / Path(source).expanduser())


def _in_words(error: ValidationError, file: Path | None) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = [str(p) for p in first["loc"]]
    where = f" (see {file})" if file else ""
    if first["type"] == "extra_forbidden":
        return f"There is no setting {'.'.join(place)}{where}.{nearest(place[-1], _keys(place[:-1]))}"
    return f"The setting {'.'.join(place)} is not right{where}: {first['msg'].lower()}."


def _keys(place: list[str]) -> list[str]:
    fields = Settings.model_fields
    for name in place:
        inner = fields[name].annotation if name in fields else SourceSettings
        fields = getattr(inner, "model_fields", SourceSettings.model_fields)
    return list(fields)
