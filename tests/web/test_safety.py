"""What the server refuses: strangers, other sites, bent names, paths outside, bodies too long, and keys on the page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fake_endpoint import KEY
from webserver import COUNT, TOKEN, Served, ended, replay, serve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "chosen"
    inner.mkdir()
    (inner / "in.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    os.symlink(tmp_path / "secret.csv", inner / "link.csv")
    return inner


@pytest.fixture
def served(folder: Path, tmp_path: Path) -> Iterator[Served]:
    with serve([], {"model": {"name": replay(tmp_path, COUNT)}}, [folder], limit=2000) as one:
        yield one


def test_without_the_token_nothing_is_told(served: Served) -> None:
    with httpx.Client(base_url=served.url) as client:
        for path in ("/", "/api/settings", "/api/sources", "/api/openapi.json", "/api/runs", "/nothing"):
            assert client.get(path).status_code == 403
            assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 403
            assert client.get(path, params={"token": TOKEN[:-1]}).status_code == 403
        assert client.post("/api/runs", json={}).status_code == 403
        assert "rowhop serve" in client.get("/").text


def test_the_address_gives_a_cookie_that_scripts_cannot_read(served: Served) -> None:
    with httpx.Client(base_url=served.url) as client:
        page = client.get("/", params={"token": TOKEN})
        assert page.status_code == 200
        cookie = page.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/api/settings").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "[::1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
    ],
)
def test_other_sites_and_bent_names_are_refused(served: Served, headers: dict[str, str]) -> None:
    with served.client() as client:
        assert client.get("/api/settings", headers=headers).status_code in (400, 403)
        assert client.post("/api/sources", json={"path": "in.csv"}, headers=headers).status_code in (400, 403)


def test_every_reply_carries_the_policy(served: Served) -> None:
    with served.client() as client:
        for path in ("/", "/static/app.js", "/api/settings", "/nothing"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
    with httpx.Client(base_url=served.url) as stranger:
        assert "default-src 'none'" in stranger.get("/api/settings").headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.csv",
        "link.csv",
        "/etc/passwd",
        "in.csv/../../secret.csv",
        "~/x.csv",
        "file:///etc/passwd",
        "http://127.0.0.1/x",
        "sqlite:////etc/passwd",
        "a\0b",
        "x" * 999,
        "",
        ".",
    ],
)
def test_no_path_outside_the_chosen_folders_is_opened(served: Served, path: str) -> None:
    with served.client() as client:
        reply = client.post("/api/sources", json={"path": path})
        assert reply.status_code == 400, reply.text
        assert client.get("/api/sources").json()["sources"] == []


def test_what_lies_in_a_chosen_folder_is_opened(served: Served) -> None:
    with served.client() as client:
        assert client.get("/api/files").json() == {"files": ["in.csv"]}
        assert client.post("/api/sources", json={"path": "in.csv"}).status_code == 201
        again = client.post("/api/sources", json={"path": "./in.csv"}).json()
        assert len(again["sources"]) == 1


@pytest.mark.parametrize("group", ["../x", "a/b", "..", "", "x" * 40, "nothing"])
def test_a_group_is_no_path(served: Served, group: str) -> None:
    with served.client() as client:
        sent = client.post("/api/uploads", params={"name": "t.csv", "group": group}, content=b"a\n1\n")
        assert sent.status_code == (201 if group in ("", "nothing") else 400)
        added = client.post("/api/sources", json={"group": group})
        assert added.status_code in (201, 400, 422)
        places = served.desk.places
        assert all(Path(e.place).is_relative_to(places.uploads) for e in places.entries.values())


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "..\\evil.csv", "/tmp/evil.csv", ".evil.csv", "a\nb.csv", "漢" * 120 + ".csv"]
)
def test_an_uploads_name_is_no_path(served: Served, name: str) -> None:
    with served.client() as client:
        sent = client.post("/api/uploads", params={"name": name, "group": "g"}, content=b"a\n1\n")
        assert sent.status_code == 201
        found = [f for f in served.desk.places.uploads.rglob("*") if f.is_file()]
        assert len(found) == 1
        assert found[0].parent == served.desk.places.uploads / "g"
        assert not found[0].name.startswith(".")
        assert found[0].name.isprintable()


def test_uploads_are_limited_whether_they_say_their_length_or_not(served: Served) -> None:
    with served.client() as client:
        assert client.post("/api/uploads?name=a.csv", content=b"x" * 2001).status_code == 413
        assert client.post("/api/uploads?name=a.csv", content=(b"x" * 100 for _ in range(21))).status_code == 413
        assert client.post("/api/uploads?name=a.csv", content=(b"x" * 100 for _ in range(20))).status_code == 201
        assert client.post("/api/runs", content=b"x" * 300_000).status_code == 413
        assert not list(served.desk.places.uploads.rglob("*.part"))


def test_uploads_are_gone_when_the_server_ends(tmp_path: Path) -> None:
    with serve([], {"model": {"name": replay(tmp_path, COUNT)}}) as served:
        kept = served.desk.places.uploads
        with served.client() as client:
            client.post("/api/uploads?name=a.csv", content=b"a\n1\n")
        assert kept.is_dir()
    assert not kept.exists()


def test_no_key_and_no_endpoint_is_sent_to_the_page(folder: Path) -> None:
    given = {"model": {"name": "big", "base_url": "http://127.0.0.1:9/private/v1", "api_key": KEY, "timeout": 1}}
    with serve([folder / "in.csv"], given) as served, served.client() as client:
        run = served.ask(client, "How many?")
        client.post(f"/api/runs/{run}/stop")
        told = json.dumps(ended(client, run))
        for path in ("/api/settings", "/api/sources", "/api/runs", f"/api/runs/{run}", "/api/openapi.json"):
            told += client.get(path).text
        assert KEY not in told
        assert "/private/" not in client.get("/api/settings").text


def test_a_password_in_a_url_is_not_shown(tmp_path: Path) -> None:
    url = "postgresql://ann:hunter2@127.0.0.1:1/shop?password=hunter3"
    with serve([url], {"model": {"name": replay(tmp_path, COUNT)}}) as served, served.client() as client:
        told = client.get("/api/sources").text + client.get("/api/content", params={"source": served.sources()}).text
        told += json.dumps(ended(client, served.ask(client, "How many?")))
        assert "hunter" not in told
        assert "postgresql://127.0.0.1:1/shop" in told


@pytest.mark.parametrize("model", ["replay:/etc/passwd", "/tmp/x.gguf", "gpt-x"])
def test_the_page_cannot_name_a_model_that_is_not_offered(served: Served, model: str) -> None:
    with served.client() as client:
        client.post("/api/sources", json={"path": "in.csv"})
        reply = client.post("/api/runs", json={"question": "x", "sources": served.sources(), "model": model})
        assert reply.status_code == 400
        assert "not offered" in reply.json()["error"]


def test_the_scripts_write_text_and_never_markup() -> None:
    static = Path(__file__).parents[2] / "src" / "rowhop" / "web" / "static"
    for file in static.iterdir():
        text = file.read_text(encoding="utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "srcdoc",
        ):
            assert word not in text, f"{file.name} uses {word}"
        assert "https://" not in text, f"{file.name} names another site"
        assert "http://" not in text.replace("http://www.w3.org/", ""), f"{file.name} names another site"
