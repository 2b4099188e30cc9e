"""The messages of one question: a system text and demonstrations, which stay the same from question to question
where the model caches them, then the BOXes, the notes and the question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rowhop import prompts
from rowhop.agents.pandora.choose import Room, choose
from rowhop.agents.pandora.result import plain
from rowhop.agents.pandora.show import box_line, schema_only, show, show_box, show_rows
from rowhop.box import Box, BoxSet
from rowhop.memory import Entry, Memory
from rowhop.models import Embedder, Message
from rowhop.sources import Source
from rowhop.types import Language, Question, Value

if TYPE_CHECKING:
    from rowhop.agents.pandora.agent import PandoraSettings

PACKAGE = "rowhop.agents.pandora"
# Tokens of BOXes in a prompt where the user says nothing: reading costs an embedded model a second per 70.
TOKENS_COMPACT, TOKENS_LARGE = 900, 6_000
CHARACTERS_PER_TOKEN = 3.2
# Rows of a single table that a prompt may be made of, those shown as samples, and those that the question names.
ROWS_READ, ROWS_FIRST, ROWS_NAMED = 500, 3, 3
# Demonstrations. A small model writes SQL better from the schema alone: with a fixed block it copied the block's joins
# (docs/benchmarks.md); for pandas a block helps.
FIXED = {"python": 4, "sql": 0, "sparql": 0}
RECALLED, RECALLED_COMPACT = 10, 4
_DIALECTS = {"duckdb": "DuckDB", "sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL"}


class Prompt(NamedTuple):
    source: Source
    memory: Memory
    embedder: Embedder | None
    settings: PandoraSettings
    language: Language
    dialect: str
    compact: bool  # the model runs on this machine: short prompts, a prefix that stays

    def allowed(self) -> BoxSet:
        """All BOXes without the columns that the user hides."""
        boxes, hidden = self.source.boxes(), set(self.settings.hidden)
        if not hidden:
            return boxes
        kept = tuple(
            replace(
                b, columns=tuple(c for c in b.columns if c.name not in hidden and f"{b.name}.{c.name}" not in hidden)
            )
            for b in boxes.boxes
        )
        return replace(boxes, boxes=kept)

    def boxes(self, question: Question) -> BoxSet:
        """The BOXes that the prompt shows for a question."""
        tokens = self.settings.prompt_tokens or (TOKENS_COMPACT if self.compact else TOKENS_LARGE)
        room = Room(int(tokens * CHARACTERS_PER_TOKEN))
        values = self.settings.share != "schema"
        # What was asked before also says which tables a follow-up question is about.
        words = f"{question.context}\n{question.text}".strip()
        found = choose(self.source, self.allowed(), words, room, _size, self.embedder, match_cells=values)
        return found if values else schema_only(found)

    def shown(self, boxes: BoxSet) -> str:
        if self.settings.share == "schema":
            return show(boxes, samples=0)
        text = show(boxes, samples=3 if self.compact else 4)
        # Whole rows tell a large model how cells belong together; a small one copies them as its answer.
        if self.compact or len(boxes.boxes) != 1:
            return text
        room = int((self.settings.prompt_tokens or TOKENS_LARGE) * CHARACTERS_PER_TOKEN) - len(text)
        (box,) = boxes.boxes
        found = show_rows(self._rows(box), [c.name for c in box.columns], room)
        return f"{text}\n{found}" if found else text

    def _rows(self, box: Box) -> list[tuple[int, list[Value]]]:
        """All rows where the user shares all data; else the first ones, and the first that hold what the question
        names."""
        names = [c.name for c in box.columns]
        table = self.source.load(box.name, names, limit=ROWS_READ)
        columns = [[plain(cell) for cell in column.to_pylist()] for column in table.columns]
        chosen = list(range(table.num_rows))
        if self.settings.share != "all":
            matched = [(cells, cell) for c, cells in zip(box.columns, columns, strict=True) for cell in c.matched]
            named = [cells.index(cell) for cells, cell in matched if cell in cells]
            chosen = sorted({*chosen[:ROWS_FIRST], *named[:ROWS_NAMED]})
        return [(number, [cells[number] for cells in columns]) for number in chosen]

    def messages(self, shown: str, question: Question) -> tuple[Message, ...]:
        """`shown` is what `shown` made of the BOXes: it may read rows, so it is made once."""
        template = prompts.text(PACKAGE, "question")
        notes = f"\nNotes: {self.settings.notes}" if self.settings.notes else ""
        earlier = f"\n{question.context}" if question.context else ""
        asked = prompts.fill(template, boxes=shown + notes + earlier, question=question.text).rstrip()
        return (*self._head(question), Message("user", asked))

    def _head(self, question: Question) -> list[Message]:
        if self.language == "python":
            system = prompts.text(PACKAGE, "system_python").strip()
        else:
            dialect = _DIALECTS.get(self.dialect, self.dialect)
            system = prompts.fill(prompts.text(PACKAGE, "system_sql"), dialect=dialect).strip()
        head = [Message("system", system)]
        template = prompts.text(PACKAGE, "question")
        for entry in self._demonstrations(question):
            asked = prompts.fill(template, boxes=entry.schema, question=entry.question).rstrip()
            head += [Message("user", asked), Message("assistant", written(entry))]
        return head

    def _demonstrations(self, question: Question) -> list[Entry]:
        k, how = self.settings.demonstrations, self.settings.recall
        if how.how == "fixed" or (how.how == "auto" and self.compact):
            kind = "database" if self.source.kind == "database" or len(self.source.boxes().boxes) > 1 else "table"
            return self.memory.fixed(FIXED[self.language] if k is None else k, self.language, kind)  # type: ignore[arg-type]
        if k is None:
            k = RECALLED_COMPACT if self.compact else RECALLED
        how = replace(how, dataset=how.dataset or self.source.name)
        return self.memory.recall(question.text, k, self.language, how)

    def repair(
        self, messages: tuple[Message, ...], question: Question, code: str, complaint: str
    ) -> tuple[Message, ...]:
        """A conversation goes on with the complaint; a small model reads its whole prompt anew, with the failure
        as a warning, since it loses the thread of a longer conversation."""
        if not self.compact:
            template = prompts.text(PACKAGE, "repair")
            told = prompts.fill(template, complaint=complaint, question=question.text).rstrip()
            return (*messages, Message("assistant", fenced(code, self.language)), Message("user", told))
        asked = messages[-1].content.removesuffix(f"Q: {question.text}")
        told = prompts.fill(
            prompts.text(PACKAGE, "again"),
            asked=asked,
            complaint=" ".join(complaint.split())[:300],
            question=question.text,
        )
        return (*messages[:-1], Message("user", told.rstrip()))


def _size(box: Box) -> int:
    return len(show_box(box))


def _line_size(box: Box) -> int:
    return len(box_line(box))


def fenced(code: str, language: Language) -> str:
    return f"```{language}\n{code}\n```"


def written(entry: Entry) -> str:
    """A demonstration's reply, as replies are wanted: the thought as a comment, then the program."""
    mark = "--" if entry.language == "sql" else "#"
    thought = f"{mark} {entry.rationale}\n" if entry.rationale else ""
    return fenced(thought + entry.code, entry.language)
