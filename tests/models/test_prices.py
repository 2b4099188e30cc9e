"""Prices, and budgets in money."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_endpoint import KEY, serve

from rowhop.errors import BudgetSpent, ConfigError
from rowhop.models import Message, Options, Usage
from rowhop.models.ask import ask
from rowhop.models.openai import OpenAIModel
from rowhop.models.prices import Price, priced, read_prices
from rowhop.models.scripted import Scripted
from rowhop.trace import Budget, Trace
from rowhop.types import Question

HELLO = [Message("user", "Say hello.")]
TOML = """
["gpt-x"]
prompt = 0.5
cached = 0.05
reply = 4.0

["vendor/big"]
from = "endpoint"
"""


@pytest.fixture
def prices(tmp_path: Path) -> dict[str, Price]:
    (tmp_path / "prices.toml").write_text(TOML)
    return read_prices(tmp_path / "prices.toml")


def test_toml_and_json_agree(prices: dict[str, Price], tmp_path: Path) -> None:
    data = {"gpt-x": {"prompt": 0.5, "cached": 0.05, "reply": 4.0}, "vendor/big": {"from": "endpoint"}}
    (tmp_path / "prices.json").write_text(json.dumps(data))
    assert read_prices(tmp_path / "prices.json") == prices
    assert prices["gpt-x"].of(Usage(1_000_000, 100_000, 200_000)) == pytest.approx(0.8 * 0.5 + 0.2 * 0.05 + 0.4)
    assert Price(1.0, 1.0).of(Usage(1_000_000, 0, 500_000)) == 1.0


def test_calls_get_their_price_and_the_budget_ends_the_run(prices: dict[str, Price]) -> None:
    with serve("ok") as script:
        model = priced(OpenAIModel("gpt-x", script.url, KEY), prices, 0.00005)
        trace = Trace(Question("?"), Budget(money=0.00005))
        ask(model, "code", HELLO, Options(), trace)
        # 4 fresh and 16 cached prompt tokens, 7 reply tokens
        assert trace.cost.money == pytest.approx((4 * 0.5 + 16 * 0.05 + 7 * 4.0) / 1e6)
        ask(model, "code", HELLO, Options(), trace)
        with pytest.raises(BudgetSpent, match="budget of"):
            ask(model, "code", HELLO, Options(), trace)


def test_unknown_price_with_a_budget_is_refused(prices: dict[str, Price]) -> None:
    with serve("ok") as script:
        model = OpenAIModel("other", script.url, KEY)
        with pytest.raises(ConfigError, match=r"budget of \$2 cannot be kept: the price of other is not known.*gpt-x"):
            priced(model, prices, 2)
        assert priced(model, prices) is model
        assert not script.bodies


def test_the_endpoints_own_figure(prices: dict[str, Price]) -> None:
    with serve("ok", cost=0.25) as script:
        assert priced(OpenAIModel("vendor/big", script.url, KEY), prices, 1).complete(HELLO).usage.money == 0.25
    with serve("ok") as script, pytest.raises(ConfigError, match="does not say what a call costs"):
        priced(OpenAIModel("vendor/big", script.url, KEY), prices, 1).complete(HELLO)


def test_what_runs_here_is_free() -> None:
    assert priced(Scripted(["a"]), {}, 1).complete(HELLO).usage.money == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "x = ",
        "a = 5",
        "[a]\nprompt = 1",
        "[a]\nprompt = -1\nreply = 1",
        '[a]\nprompt = "1"\nreply = 1',
        '[a]\nfrom = "moon"',
        "[a]\nprompt = 1\nreply = 1\nper = 2",
        "[a]\nprompt = true\nreply = 1",
    ],
)
def test_bad_price_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"prices\.toml"):
        read_prices(tmp_path / "prices.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prices(tmp_path / "nowhere.toml")
