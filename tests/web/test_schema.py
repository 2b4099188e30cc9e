"""Schemathesis sends what the OpenAPI document allows, and what it does not: nothing may end in a 500."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from webserver import COUNT, TOKEN, Served, ended, replay, serve

QUICK = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    phases=[Phase.generate],
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("schema")
    (folder / "t.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    model = {"name": replay(folder, COUNT.replace("customers", "t").replace("country", "b"))}
    with serve([folder / "t.csv"], {"model": model, "memory": {"file": folder / "memory"}}, [folder], at_once=4) as one:
        yield one


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_ends_in_a_500(served: Served, mode: GenerationMode) -> None:
    with served.client() as client:
        known = served.ask(client, "How many?")
        ended(client, known)
        document = client.get("/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    called = 0
    for operation in schema.get_all_operations():
        found = operation.ok()

        @QUICK
        @given(case=found.as_strategy(generation_mode=mode))
        def call(case: schemathesis.Case) -> None:
            nonlocal called
            # Every second call is about a run that is there: an invented id is only ever not found.
            if "id" in (case.path_parameters or {}) and called % 2:
                case.path_parameters["id"] = known
            called += 1
            headers = {"authorization": f"Bearer {TOKEN}"}
            reply = case.call(base_url=served.url, headers=headers, timeout=20)
            case.validate_response(reply, checks=[checks.not_a_server_error])

        try:
            call()
        except Unsatisfiable:
            # An operation that takes nothing, or any text, can be given nothing wrong.
            assert mode == GenerationMode.NEGATIVE
    assert called > 40
