"""What may be opened: sources that were named at the start, files in the chosen folders, and what was uploaded."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rowhop.errors import ConfigError, SourceError
from rowhop.sources import DATABASE_FILES, GRAPH_FILES, TABLE_FILES

LISTED = 200  # files that the page offers
_DEEP = 3
_NAME = 240  # bytes of an uploaded file's name; file systems allow 255, and the upload itself adds .part
_OPENED = TABLE_FILES | DATABASE_FILES | GRAPH_FILES | {".obo", ".gz"}


@dataclass(frozen=True)
class Entry:
    """One source that can be asked. `place` stays on the server, `name` is shown."""

    id: str
    name: str
    place: str
    uploaded: bool = False


class Places:
    """`folders` are those that files may be named in; `limit` is the most bytes of one upload."""

    def __init__(self, folders: Sequence[Path], limit: int) -> None:
        self.folders = tuple(f.resolve() for f in folders)
        self.limit = limit
        self.entries: dict[str, Entry] = {}
        self._temporary = TemporaryDirectory(prefix="rowhop-web-")
        self.uploads = Path(self._temporary.name).resolve()

    def add(self, place: str, name: str = "", uploaded: bool = False) -> Entry:
        """The same place gets the same entry."""
        for known in self.entries.values():
            if known.place == place:
                return known
        shown = name or (_without_password(place) if "://" in place else Path(place).name)
        taken = {e.name for e in self.entries.values()}
        if shown in taken:
            shown = next(f"{shown} ({n})" for n in range(2, 1000) if f"{shown} ({n})" not in taken)
        entry = Entry(secrets.token_hex(6), shown, place, uploaded)
        self.entries[entry.id] = entry
        return entry

    def remove(self, id: str) -> bool:
        return self.entries.pop(id, None) is not None

    def chosen(self, ids: Sequence[str]) -> list[Entry]:
        """Raises ConfigError for an id that is not there."""
        missing = [i for i in ids if i not in self.entries]
        if missing:
            raise ConfigError("One of the chosen sources is gone. Reload the page and choose again.")
        return [self.entries[i] for i in dict.fromkeys(ids)]

    def inside(self, text: str) -> str:
        """A path that a person named, when it lies in a chosen folder. Raises ConfigError."""
        if "://" in text:
            raise ConfigError("A database or endpoint is named when the server is started: rowhop serve URL.")
        if "\0" in text or not text.strip():
            raise ConfigError("A path is needed, e.g. orders.csv.")
        for folder in self.folders:
            try:
                path = (folder / text.strip()).resolve()
                if (path == folder or folder in path.parents) and path.exists() and not _leads_out(path, folder):
                    return str(path)
            except (OSError, ValueError, RuntimeError):
                # Too long a name, or a link that leads back to itself.
                continue
        where = ", ".join(map(str, self.folders)) or "no folder"
        raise ConfigError(f"There is no such file in what this server may open ({where}).")

    def files(self) -> list[str]:
        """Files in the chosen folders that can be opened, as paths from there."""
        found: list[str] = []
        for folder in self.folders:
            for path in _walk(folder, _DEEP):
                if len(found) == LISTED:
                    return found
                found.append(path.relative_to(folder).as_posix())
        return found

    def room(self, name: str, group: str) -> Path:
        """Where an upload goes. Files of one group lie in one folder. Raises ConfigError for a name that is none."""
        clean = Path(name.replace("\\", "/")).name
        clean = re.sub(r"[\x00-\x1f\x7f]", "", clean).strip().lstrip(".")
        clean = clean.encode("utf-8", "ignore")[-_NAME:].decode("utf-8", "ignore")
        if not clean:
            raise ConfigError("The uploaded file has no name.")
        if not re.fullmatch(r"[0-9a-zA-Z]{0,32}", group):
            raise ConfigError("A group is named with letters and digits.")
        folder = self.uploads / (group or secrets.token_hex(8))
        folder.mkdir(exist_ok=True)
        return folder / clean

    def uploaded(self, group: str) -> list[Path]:
        """What lies in a group: one folder for a graph of nodes and edges, else each file. Raises SourceError."""
        folder = self.uploads / group
        if not re.fullmatch(r"[0-9a-zA-Z]{1,32}", group) or not folder.is_dir():
            raise SourceError("Nothing was uploaded under this name.")
        files = sorted(folder.iterdir())
        stems = {f.name.partition(".")[0] for f in files}
        return [folder] if {"nodes", "edges"} <= stems else files

    def close(self) -> None:
        self._temporary.cleanup()


def _leads_out(path: Path, folder: Path) -> bool:
    """Whether a link right in the folder `path` points outside `folder`: opening `path` would follow it."""
    return path.is_dir() and any(c.is_symlink() and folder not in c.resolve().parents for c in path.iterdir())


def _walk(folder: Path, deep: int) -> Iterator[Path]:
    try:
        children = sorted(folder.iterdir())
    except OSError:
        return
    names = {c.name.partition(".")[0] for c in children}
    if {"nodes", "edges"} <= names:
        yield folder
        return
    for child in children:
        if child.name.startswith((".", "~$")) or child.is_symlink():
            continue
        if child.is_dir():
            if deep > 1 and child.name not in ("node_modules", "__pycache__", "src", "tests"):
                yield from _walk(child, deep - 1)
        elif child.suffix.lower() in _OPENED:
            yield child


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
