"""The HTTP API over a real server: asking, streams, the queue, stopping, uploads, downloads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_endpoint import KEY
from fake_endpoint import serve as endpoint
from webserver import COUNT, PER_COUNTRY, Served, ended, events, replay, serve

from rowhop.trace import load
from rowhop.tracefile import step_json

SLOW = "word " * 60


@pytest.fixture
def shop(examples: Path) -> Path:
    return examples / "shop" / "customers.csv"


@pytest.fixture
def served(shop: Path, tmp_path: Path) -> Iterator[Served]:
    with serve([shop], {"model": {"name": replay(tmp_path, COUNT, PER_COUNTRY)}}) as one:
        yield one


def slow(shop: Path, url: str, **how: int) -> object:
    return serve([shop], {"model": {"name": "big", "base_url": url, "api_key": KEY}}, **how)  # type: ignore[arg-type]


def test_a_question_is_answered_with_its_evidence(served: Served) -> None:
    with served.client() as client:
        end = ended(client, served.ask(client, "How many customers are from Norway?"))
        assert end["state"] == "answered"
        assert end["answer"]["values"] == [10]
        assert end["answer"]["evidence"][0]["total"] == 10
        assert "count" in end["answer"]["program"]["code"].lower()


def test_the_page_and_the_saved_trace_show_the_same_steps(served: Served, tmp_path: Path) -> None:
    with served.client() as client:
        run = served.ask(client, "How many customers are from Norway?")
        seen = [data["step"] for kind, data in events(client, run) if kind == "step"]
        file = tmp_path / "trace.jsonl"
        file.write_bytes(client.get(f"/api/runs/{run}/download/trace.jsonl").content)
    saved = load(file)
    assert seen == [step_json().dump_python(step, mode="json") for step in saved.steps]
    assert [s["kind"] for s in seen][:2] == ["boxes_opened", "model_call"]
    assert saved.answer["values"] == [10]


def test_a_viewer_goes_on_where_it_left_off(served: Served) -> None:
    with served.client() as client:
        run = served.ask(client, "How many customers are from Norway?")
        whole = events(client, run)
        assert events(client, run, after="3") == whole[3:]
        assert events(client, run, after="nonsense") == whole
        assert events(client, run, after="99999") == []


def test_the_first_event_comes_within_a_tenth_of_a_second(served: Served) -> None:
    with served.client() as client:
        client.get("/api/settings")
        waits = []
        for _ in range(5):
            start = time.perf_counter()
            run = served.ask(client, "How many customers are from Norway?")
            with client.stream("GET", f"/api/runs/{run}/events") as reply:
                next(reply.iter_lines())
                waits.append(time.perf_counter() - start)
    # Of five, the quickest: the machine that runs this may be busy.
    assert min(waits) < 0.1, waits


def test_a_follow_up_knows_the_question_before(served: Served) -> None:
    with served.client() as client:
        first = client.post("/api/runs", json={"question": "How many from Norway?", "sources": served.sources()}).json()
        ended(client, first["run"])
        second = served.ask(client, "And per country?", talk=first["talk"])
        steps = [d["step"] for kind, d in events(client, second) if kind == "step"]
        sent = next(s for s in steps if s["kind"] == "model_call")["messages"][-1]["content"]
        assert "How many from Norway?" in sent
        history = client.get("/api/runs").json()["runs"]
        assert [r["question"] for r in history] == ["And per country?", "How many from Norway?"]
        assert {r["talk"] for r in history} == {first["talk"]}


def test_an_error_ends_the_run_with_a_sentence(shop: Path, tmp_path: Path) -> None:
    with endpoint("401") as script, slow(shop, script.url) as served, served.client() as client:  # type: ignore[attr-defined]
        end = ended(client, served.ask(client, "How many?"))
        assert (end["state"], end["answer"]) == ("failed", None)
        assert "key" in end["error"]
        assert KEY not in json.dumps(end)
    gone = tmp_path / "gone.csv"
    gone.write_text("a\n1\n", encoding="utf-8")
    with serve([gone], {"model": {"name": replay(tmp_path, COUNT)}}) as served, served.client() as client:
        gone.unlink()
        assert "gone.csv" in ended(client, served.ask(client, "How many?"))["error"]


def test_a_run_is_stopped_in_the_middle_of_a_reply(shop: Path) -> None:
    with endpoint("slow", text=SLOW) as script, slow(shop, script.url) as served, served.client() as client:  # type: ignore[attr-defined]
        run = served.ask(client, "How many?")
        start = time.monotonic()
        with client.stream("GET", f"/api/runs/{run}/events") as reply:
            for line in reply.iter_lines():
                if line == "event: token":
                    break
        assert client.post(f"/api/runs/{run}/stop").status_code == 202
        end = ended(client, run)
        assert end["state"] == "stopped"
        assert time.monotonic() - start < 2.5  # the whole reply takes three seconds
        assert client.post(f"/api/runs/{run}/stop").json() == {"state": "stopped"}


def test_twenty_questions_wait_and_none_is_lost(shop: Path, tmp_path: Path) -> None:
    given = {"model": {"name": replay(tmp_path, COUNT)}}
    with serve([shop], given, at_once=2) as served, served.client() as client:
        with ThreadPoolExecutor(8) as pool:
            runs = list(pool.map(lambda n: served.ask(client, f"Question {n}?"), range(20)))
        assert len(set(runs)) == 20
        ends = [ended(client, run) for run in runs]
        assert [e["answer"]["values"] for e in ends] == [[10]] * 20


def test_a_full_queue_says_so_and_keeps_its_place(shop: Path) -> None:
    with (
        endpoint("slow", text=SLOW) as script,
        slow(shop, script.url, at_once=1, waiting=2) as served,  # type: ignore[attr-defined]
        served.client() as client,
    ):
        first = served.ask(client, "One?")
        while served.desk.runs[first].state == "queued":
            time.sleep(0.01)
        second, third = served.ask(client, "Two?"), served.ask(client, "Three?")
        refused = client.post("/api/runs", json={"question": "Four?", "sources": served.sources()})
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "10"
        assert "waiting already" in refused.json()["error"]
        assert served.desk.runs[third].events[-1].data["position"] == 2
        client.post(f"/api/runs/{second}/stop")
        assert served.desk.runs[second].state == "stopped"
        assert served.desk.runs[third].events[-1].data["position"] == 1
        client.post(f"/api/runs/{third}/stop")
        client.post(f"/api/runs/{first}/stop")


def test_fifty_viewers_see_the_same_run(shop: Path) -> None:
    with (
        endpoint("slow", text="word " * 12 + COUNT) as script,
        slow(shop, script.url) as served,
        served.client() as one,
    ):  # type: ignore[attr-defined]
        run = served.ask(one, "How many customers are from Norway?")
        seen: list[list[object]] = []

        def look() -> None:
            with served.client() as client:
                seen.append(list(events(client, run)))

        viewers = [threading.Thread(target=look) for _ in range(50)]
        for viewer in viewers:
            viewer.start()
        for viewer in viewers:
            viewer.join(30)
        assert len(seen) == 50
        assert all(one == seen[0] for one in seen)
        assert not served.desk.runs[run]._wakers


def test_a_file_is_uploaded_and_asked(tmp_path: Path) -> None:
    sql = "n\n```sql\nSELECT sum(n) FROM orders\n```"
    with serve([], {"model": {"name": replay(tmp_path, sql)}}) as served, served.client() as client:
        sent = client.post("/api/uploads?name=orders.csv&group=g1", content=b"item,n\na,1\nb,2\n")
        assert sent.json() == {"group": "g1"}
        added = client.post("/api/sources", json={"group": "g1"}).json()
        assert [s["name"] for s in added["sources"]] == ["orders.csv"]
        content = client.get("/api/content", params={"source": added["added"]}).json()
        assert [c["name"] for c in content["boxes"][0]["columns"]] == ["item", "n"]
        assert ended(client, served.ask(client, "Sum of n?"))["answer"]["values"] == [3]
        assert client.delete(f"/api/sources/{added['added'][0]}").json()["sources"] == []
        assert client.post("/api/runs", json={"question": "x", "sources": added["added"]}).status_code == 400


def test_nodes_and_edges_that_are_dropped_together_are_one_graph(examples: Path, tmp_path: Path) -> None:
    with serve([], {"model": {"name": replay(tmp_path, COUNT)}}) as served, served.client() as client:
        for file in (examples / "trails").iterdir():
            client.post(f"/api/uploads?name={file.name}&group=trails", content=file.read_bytes())
        added = client.post("/api/sources", json={"group": "trails"}).json()
        assert len(added["added"]) == 1
        content = client.get("/api/content", params={"source": added["added"]}).json()
        assert content["kind"] == "text graph"
        assert "hut" in {t["name"] for t in content["schema"]["types"]}


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with serve([], {"model": {"name": replay(tmp_path, COUNT)}}) as served, served.client() as client:
        client.post("/api/uploads?name=photo.parquet&group=p", content=b"no parquet at all")
        reply = client.post("/api/sources", json={"group": "p"})
        assert reply.status_code == 400
        assert "photo.parquet" in reply.json()["error"]
        assert client.get("/api/sources").json()["sources"] == []


def test_the_program_runs_alone_on_the_same_files(served: Served, tmp_path: Path) -> None:
    with served.client() as client:
        run = served.ask(client, 'How many "customers"""?')
        ended(client, run)
        script = tmp_path / "program.py"
        got = client.get(f"/api/runs/{run}/download/program.py")
        assert "attachment" in got.headers["content-disposition"]
        script.write_bytes(got.content)
        sql = client.get(f"/api/runs/{run}/download/program.sql").text
        assert sql.lower().startswith("select count(*)")
        assert client.get(f"/api/runs/{run}/download/program.sparql").status_code == 404
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split()[-1] == "10", done.stderr


def test_a_program_finds_its_file_under_any_name(tmp_path: Path) -> None:
    odd = tmp_path / "\N{GRINNING FACE} shop"
    odd.mkdir()
    (odd / "customers.csv").write_text("name,country\nAda,Norway\nBo,Peru\n", encoding="utf-8")
    with (
        serve([odd / "customers.csv"], {"model": {"name": replay(tmp_path, COUNT)}}) as served,
        served.client() as client,
    ):
        run = served.ask(client, "How many customers?")
        ended(client, run)
        script = tmp_path / "program.py"
        script.write_bytes(client.get(f"/api/runs/{run}/download/program.py").content)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split()[-1:] == ["1"], done.stderr


def test_a_python_program_runs_alone_too(shop: Path, tmp_path: Path) -> None:
    python = "n\n```python\nanswer = int((customers['country'] == 'Norway').sum())\n```"
    given = {"model": {"name": replay(tmp_path, python)}, "ask": {"language": "python"}}
    with serve([shop], given) as served, served.client() as client:
        run = served.ask(client, "How many?")
        ended(client, run)
        script = tmp_path / "program.py"
        script.write_bytes(client.get(f"/api/runs/{run}/download/program.py").content)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split()[-1] == "10", done.stderr


def test_a_result_as_csv_holds_no_formula(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text('name,n\n"=HYPERLINK(1)",1\n-5,2\n', encoding="utf-8")
    with (
        serve(
            [table], {"model": {"name": replay(tmp_path, "n\n```sql\nSELECT name, n FROM t ORDER BY n\n```")}}
        ) as served,
        served.client() as client,
    ):
        run = served.ask(client, "All?")
        ended(client, run)
        text = client.get(f"/api/runs/{run}/download/result.csv").text
        assert text.splitlines() == ["name,n", "'=HYPERLINK(1),1", "-5,2"]
        answer = client.get(f"/api/runs/{run}/download/answer.json").json()
        assert answer["sources"] == [str(table)]


def test_an_answer_is_remembered_only_when_it_is_confirmed(served: Served) -> None:
    with served.client() as client:
        run = served.ask(client, "How many customers are from Norway?")
        ended(client, run)
        shown = client.get(f"/api/runs/{run}/remember").json()
        file = served.desk.settings.memory_file
        assert "customers" in shown["schema"]
        assert not file.exists()
        assert client.post(f"/api/runs/{run}/remember").json() == {"remembered": True, "new": True}
        assert client.post(f"/api/runs/{run}/remember").json() == {"remembered": True, "new": False}
        assert "How many customers are from Norway?" in file.read_text(encoding="utf-8")
        assert ended(client, served.ask(client, "Per country?"))["state"] in ("answered", "failed")


def test_more_rows_of_the_evidence_are_read(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("n\n" + "".join(f"{n}\n" for n in range(500)), encoding="utf-8")
    sql = "n\n```sql\nSELECT count(*) FROM t WHERE n >= 100\n```"
    with serve([table], {"model": {"name": replay(tmp_path, sql)}}) as served, served.client() as client:
        run = served.ask(client, "How many?")
        assert ended(client, run)["answer"]["values"] == [400]
        got = client.get(f"/api/runs/{run}/rows", params={"box": "t", "start": 200, "count": 50}).json()
        assert (got["row_numbers"][0], got["rows"][0], len(got["rows"])) == (300, ["300"], 50)
        assert client.get(f"/api/runs/{run}/rows", params={"box": "x"}).status_code == 400


def test_ten_runs_at_once_by_two_clients_do_not_mix(shop: Path, tmp_path: Path) -> None:
    given = {"model": {"name": replay(tmp_path, COUNT, PER_COUNTRY)}}
    with serve([shop], given, at_once=4) as served, served.client() as client:
        first = client.post("/api/runs", json={"question": "A?", "sources": served.sources()}).json()
        second = client.post("/api/runs", json={"question": "B?", "sources": served.sources()}).json()
        more = [served.ask(client, "Then?", talk=one["talk"]) for one in (first, second)]
        assert ended(client, first["run"])["answer"]["values"] == [10]
        assert [ended(client, run)["answer"]["table"]["total"] for run in more] == [5, 5]


def test_a_closing_server_ends_its_streams(shop: Path) -> None:
    with endpoint("slow", text=SLOW) as script, slow(shop, script.url) as served, served.client() as client:  # type: ignore[attr-defined]
        run = served.ask(client, "How many?")
        served.desk.close()
        assert served.desk.runs[run].over


def test_unknown_things_are_not_found(served: Served) -> None:
    with served.client() as client:
        for path in (
            "/api/runs/x",
            "/api/runs/x/events",
            "/api/runs/x/download/trace.jsonl",
            "/nothing",
            "/static/x.js",
        ):
            reply = client.get(path)
            assert reply.status_code == 404
            assert reply.json()["error"]
        assert client.post("/api/runs", json={"question": "  ", "sources": []}).status_code == 422
        assert client.post("/api/runs", json={"question": "x", "sources": []}).status_code == 400
        assert client.post("/api/runs", json={"question": "x", "talk": "gone"}).status_code == 400
