"""The MCP server in sessions of a real client: in the same process, over stdio, and over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from rowhop import config
from rowhop.mcp import server

COUNT = "Why.\n```sql\nSELECT count(*) FROM customers WHERE country = 'Norway'\n```"
ROWHOP = ("-c", "from rowhop.cli import main; main()")
TOOLS = {"list_sources", "describe", "ask", "run_program", "evidence"}


@pytest.fixture
def shop(examples: Path) -> str:
    return str(examples / "shop" / "customers.csv")


@pytest.fixture
def replayed(tmp_path: Path) -> str:
    file = tmp_path / "replies.jsonl"
    file.write_text(json.dumps({"kind": "model_call", "replies": [COUNT], "prompt_tokens": 9}) + "\n", encoding="utf-8")
    return f"replay:{file}"


def within(sources: list[str], model: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    settings = config.load({"model": {"name": model}, "ask": {"language": "sql"}})

    async def run() -> Any:
        async with Client(server(sources, settings)) as client:
            return await work(client)

    return asyncio.run(run())


async def call(client: Client, tool: str, **given: Any) -> Any:
    done = await client.call_tool(tool, given)
    text = done.content[0].text  # type: ignore[union-attr]
    assert not done.is_error, text
    return json.loads(text)


async def refused(client: Client, tool: str, **given: Any) -> str:
    done = await client.call_tool(tool, given)
    assert done.is_error
    return str(done.content[0].text)  # type: ignore[union-attr]


def test_from_the_sources_to_the_evidence(shop: str, replayed: str) -> None:
    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {t.name for t in tools} == TOOLS
        assert all(t.annotations and t.annotations.read_only_hint and t.description for t in tools)
        assert (await call(client, "list_sources"))["tables"] == [{"table": "customers", "rows": 30, "columns": 6}]
        table = (await call(client, "describe", table="customers"))["tables"][0]
        assert [c["name"] for c in table["columns"]][:2] == ["customer_id", "name"]
        answer = await call(client, "ask", question="How many customers are from Norway?")
        assert (answer["status"], answer["values"], answer["rests_on"]) == ("answered", [10], ["10 rows of customers"])
        evidence = (await call(client, "evidence", answer_id=answer["answer_id"]))["evidence"]
        assert len(evidence[0]["rows"]) == 10
        assert all("Norway" in row for row in evidence[0]["rows"])

    within([shop], replayed, work)


def test_a_program_only_reads(shop: str, replayed: str) -> None:
    before = Path(shop).read_bytes()

    async def work(client: Client) -> None:
        done = await call(
            client, "run_program", code="SELECT country, count(*) AS n FROM customers GROUP BY 1 ORDER BY 1"
        )
        assert done["table"]["columns"] == ["country", "n"]
        assert sum(row[1] for row in done["table"]["rows"]) == 30
        assert (await call(client, "run_program", code="answer = len(customers)", language="python"))["values"] == [30]
        for code in ("DROP TABLE customers", "SELECT * FROM read_csv('/etc/passwd')", "COPY customers TO 'x.csv'"):
            assert await refused(client, "run_program", code=code)
        hostile = "open('hit', 'w')\nanswer = 1"
        assert await refused(client, "run_program", code=hostile, language="python")

    within([shop], replayed, work)
    assert Path(shop).read_bytes() == before
    assert not Path("hit").exists()


def test_mistakes_are_told_in_words(shop: str, replayed: str) -> None:
    async def work(client: Client) -> None:
        assert "customers" in await refused(client, "describe", table="nothing")
        assert "Ask first" in await refused(client, "evidence", answer_id="a9")
        assert await refused(client, "ask", question="")
        assert await refused(client, "ask")
        assert await refused(client, "run_program", code="x", language="ruby")
        assert "SPARQL" in await refused(client, "run_program", code="SELECT ?s {}", language="sparql")

    within([shop], replayed, work)

    async def lost(client: Client) -> None:
        assert "nowhere.csv" in await refused(client, "list_sources")

    within(["nowhere.csv"], replayed, lost)


def test_a_graph_is_described_and_queried(examples: Path, replayed: str) -> None:
    query = "SELECT DISTINCT ?a WHERE { <http://example.org/lakes/otter> <http://example.org/lakes/captain> ?a }"

    async def work(client: Client) -> None:
        assert (await call(client, "list_sources"))["kind"] == "graph"
        relations = {r["name"] for r in (await call(client, "describe", table="Boat"))["relations"]}
        assert "captain" in relations
        done = await call(client, "run_program", code=query, language="sparql")
        assert done["values"] == ["Noé Lind"]
        assert await refused(client, "run_program", code="DELETE WHERE { ?s ?p ?o }", language="sparql")

    within([str(examples / "lakes.ttl")], replayed, work)


def test_over_stdio(shop: str, replayed: str, tmp_path: Path) -> None:
    arguments = [*ROWHOP, "mcp", shop, "--model", replayed]
    own = {"HOME": str(tmp_path), "ROWHOP_EMBEDDER": "spelling", "ROWHOP_LANGUAGE": "sql"}

    async def run() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=own)) as client:
            assert {t.name for t in (await client.list_tools()).tools} == TOOLS
            assert (await call(client, "ask", question="How many?"))["values"] == [10]

    asyncio.run(run())


def test_over_http(shop: str, replayed: str, tmp_path: Path) -> None:
    import os
    import re

    own = {**os.environ, "HOME": str(tmp_path), "ROWHOP_LANGUAGE": "sql"}
    arguments = [sys.executable, *ROWHOP, "mcp", shop, "--http", "--model", replayed]
    server_ = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=own)
    try:
        assert server_.stderr is not None
        address = re.search(r"http://\S+", server_.stderr.readline())
        assert address

        async def run() -> None:
            for wait in range(100):
                try:
                    async with Client(address[0]) as client:
                        assert (await call(client, "ask", question="How many?"))["values"] == [10]
                    return
                except (OSError, ExceptionGroup) as error:  # not up yet
                    if wait == 99:
                        raise AssertionError("the server did not come up") from error
                    await asyncio.sleep(0.1)

        asyncio.run(run())
    finally:
        server_.terminate()
        server_.wait(10)
        if server_.stderr is not None:
            server_.stderr.close()


def test_sources_are_needed(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rowhop.cli import run

    assert run(["mcp"]) == 2
    assert "No source" in capsys.readouterr().err
    assert run(["mcp", "nowhere.csv"]) == 2
