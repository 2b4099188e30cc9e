"""The HTTP API and the static page. `make` puts it together; every function is a thin layer over `Desk`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from rowhop import __version__
from rowhop.errors import OperatorError, RowhopError, SourceError
from rowhop.web import exports, remember, wire
from rowhop.web.desk import Desk, Full, described, offered
from rowhop.web.forms import AskedReply, AskForm, Named, SourcesReply
from rowhop.web.guard import Guard, TooLong
from rowhop.web.runs import Run

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_STATIC = files("rowhop.web").joinpath("static")
UPLOAD = "/api/uploads"

Ids = Annotated[list[str], Query(max_length=50)]


def make(desk: Desk, token: str, port: int) -> Guard:
    """The whole application, behind its guard."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(
        title="rowhop",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.desk = desk
    _page(app)
    _settings(app, desk)
    _sources(app, desk)
    _uploads(app, desk)
    _runs(app, desk)
    _results(app, desk)
    _errors(app)
    return Guard(app, token, port, UPLOAD, desk.places.limit)


def _page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return _file("index.html")

    @app.get("/static/{name}", include_in_schema=False)
    def asset(name: str) -> Response:
        return _file(name)


def _file(name: str) -> Response:
    if name not in {f.name for f in _STATIC.iterdir()}:
        raise HTTPException(404, "There is no such file.")
    kind = _TYPES.get(Path(name).suffix, "text/plain")
    return Response(_STATIC.joinpath(name).read_bytes(), media_type=f"{kind}; charset=utf-8")


def _settings(app: FastAPI, desk: Desk) -> None:
    @app.get("/api/settings")
    def settings() -> dict[str, Any]:
        """What can be chosen. No key and no address of an endpoint is part of it."""
        how = desk.settings
        models = offered(how)
        return {
            "version": __version__,
            "model": models[0],
            "models": models,
            "method": how.ask.method,
            "share": how.share.data,
            "budget": {"calls": how.budget.calls, "tokens": how.budget.tokens, "seconds": how.budget.seconds},
            "folders": [str(f) for f in desk.places.folders],
            "upload_bytes": desk.places.limit,
        }


def _sources(app: FastAPI, desk: Desk) -> None:
    places = desk.places

    def listed() -> dict[str, Any]:
        return {"sources": [{"id": e.id, "name": e.name, "uploaded": e.uploaded} for e in places.entries.values()]}

    @app.get("/api/sources", response_model=SourcesReply)
    def sources() -> dict[str, Any]:
        """The sources that can be asked."""
        return listed()

    @app.get("/api/files")
    def found() -> dict[str, list[str]]:
        """Files in the chosen folders that could be added."""
        return {"files": places.files()}

    @app.post("/api/sources", response_model=SourcesReply, status_code=201)
    def add(form: Named) -> dict[str, Any]:
        """Add a file of a chosen folder, or what was uploaded under one group, when it can be opened."""
        from rowhop import build

        named = [str(p) for p in places.uploaded(form.group)] if form.group else [places.inside(form.path)]
        for place in named:
            build.opened([place], desk.settings).close()
        added = [places.add(place, _label(Path(place)), bool(form.group)).id for place in named]
        return {**listed(), "added": added}

    @app.delete("/api/sources/{id}", response_model=SourcesReply)
    def remove(id: str) -> dict[str, Any]:
        """Take a source off the list. The file itself stays."""
        if not places.remove(id):
            raise HTTPException(404, "There is no such source.")
        return listed()

    @app.get("/api/content")
    def content(source: Ids) -> dict[str, Any]:
        """Tables, columns, keys of the chosen sources; or types and relations of a graph."""
        return described(desk, source)


def _uploads(app: FastAPI, desk: Desk) -> None:
    @app.post(UPLOAD, status_code=201)
    async def upload(request: Request, name: Annotated[str, Query(min_length=1)], group: str = "") -> dict[str, str]:
        """The body is the file. Uploads of one group are then added together by POST /api/sources."""
        path = desk.places.room(name, group)
        part = path.with_name(path.name + ".part")
        try:
            with part.open("wb") as file:
                async for piece in request.stream():
                    file.write(piece)
            part.replace(path)
        except OSError as error:
            raise SourceError(f"The upload could not be kept: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
        return {"group": path.parent.name}


def _label(path: Path) -> str:
    return f"{path.name}/" if path.is_dir() else path.name


def _runs(app: FastAPI, desk: Desk) -> None:
    @app.post("/api/runs", response_model=AskedReply, status_code=202)
    def ask(form: AskForm) -> dict[str, str]:
        """Ask. The reply names the run; GET /api/runs/{id}/events streams what happens. 429 when the queue is full."""
        talk = desk.talk(form.talk, form.sources, form.model, form.method)
        run = desk.ask(form.wish(), talk)
        return {"run": run.id, "talk": talk.id}

    @app.get("/api/runs")
    def history() -> dict[str, Any]:
        """All runs, the latest first."""
        return {"runs": [wire.summary(r) for r in reversed(list(desk.runs.values()))]}

    @app.get("/api/runs/{id}")
    def one(id: str) -> dict[str, Any]:
        """A run as it stands."""
        run = _run(desk, id)
        answer = wire.answer(run.answer) if run.answer is not None else None
        talk = desk.talks[run.talk]
        return {**wire.summary(run), "answer": answer, "sources": [i for i in talk.sources if i in desk.places.entries]}

    @app.get("/api/runs/{id}/events", response_class=StreamingResponse)
    async def events(id: str, last_event_id: Annotated[str, Header()] = "") -> Response:
        """Server-sent events from the first one, or after Last-Event-ID: state, fetch, token, step, end."""
        run = _run(desk, id)
        after = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else 0
        return StreamingResponse(_stream(run, after), media_type="text/event-stream")

    @app.post("/api/runs/{id}/stop", status_code=202)
    def stop(id: str) -> dict[str, str]:
        """Stop a run; one that is over stays as it is."""
        run = _run(desk, id)
        desk.stop(run)
        return {"state": run.state}


async def _stream(run: Run, after: int) -> AsyncIterator[bytes]:
    async for event in run.follow(after):
        if event is None:
            yield b": still here\n\n"
        else:
            yield f"id: {event.seq}\nevent: {event.kind}\ndata: {wire.text(event.data)}\n\n".encode()


def _run(desk: Desk, id: str) -> Run:
    if id not in desk.runs:
        raise HTTPException(404, "There is no such run; the server may have been started anew.")
    return desk.runs[id]


def _results(app: FastAPI, desk: Desk) -> None:
    @app.get("/api/runs/{id}/rows")
    def rows(
        id: str,
        box: str,
        start: Annotated[int, Query(ge=0, le=1_000)] = 0,
        count: Annotated[int, Query(ge=1, le=200)] = 100,
    ) -> dict[str, Any]:
        """More of the rows that an answer rests on."""
        return exports.rows(desk, _run(desk, id), box, start, count)

    @app.get("/api/runs/{id}/download/{name}")
    def download(id: str, name: str) -> Response:
        """program.py (runs alone on the same files), program.sql or .sparql, result.csv, answer.json, trace.jsonl"""
        made = exports.file(desk, _run(desk, id), name)
        if made is None:
            raise HTTPException(404, f"This run has no {name[:40]}.")
        kind = {"json": "application/json", "csv": "text/csv"}.get(name.rpartition(".")[2], "text/plain")
        disposition = f'attachment; filename="rowhop-{id[:6]}-{name}"'
        return Response(made, media_type=f"{kind}; charset=utf-8", headers={"content-disposition": disposition})

    @app.get("/api/runs/{id}/remember")
    def proposed(id: str) -> dict[str, str]:
        """What would be remembered, to be looked at before it is confirmed."""
        entry = remember.entry(_run(desk, id))
        return {"question": entry.question, "schema": entry.schema, "code": entry.code, "language": entry.language}

    @app.post("/api/runs/{id}/remember")
    def confirmed(id: str) -> dict[str, Any]:
        """Remember a question whose answer a person found right; later prompts show it as an example."""
        run = _run(desk, id)
        added = remember.confirm(desk.settings, run)
        desk.forget_memory()
        return {"remembered": True, "new": added}


def _errors(app: FastAPI) -> None:
    def reply(status: int, sentence: str, **headers: str) -> JSONResponse:
        return JSONResponse({"error": sentence}, status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    @app.exception_handler(Full)
    async def full(_: Request, error: Full) -> JSONResponse:
        return reply(429, str(error), retry_after="10")

    @app.exception_handler(OperatorError)
    async def operator(_: Request, error: OperatorError) -> JSONResponse:
        return reply(503, str(error))

    @app.exception_handler(RowhopError)
    async def user(_: Request, error: RowhopError) -> JSONResponse:
        return reply(400, str(error))

    @app.exception_handler(TooLong)
    async def too_long(_: Request, __: TooLong) -> JSONResponse:
        return reply(413, "The request is longer than what is allowed here.")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return reply(422, f"{'.'.join(map(str, first['loc'][1:])) or 'The request'}: {first['msg']}.")

    @app.exception_handler(StarletteHTTPException)
    async def other(_: Request, error: StarletteHTTPException) -> JSONResponse:
        return reply(error.status_code, str(error.detail))
