"""What the API takes in and gives back, as FastAPI checks it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from rowhop.config import Method
from rowhop.trace import Budget
from rowhop.web.runs import Wish

Short = Annotated[str, StringConstraints(max_length=300)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AskForm(_Form):
    """`talk` goes on with a conversation; without it `sources` are needed. `choice` is one of an ambiguous answer's."""

    question: Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
    sources: Annotated[list[Short], Field(max_length=50)] = []
    talk: Short = ""
    topics: Annotated[list[Short], Field(max_length=20)] = []
    choice: Short = ""
    model: Short = ""
    method: Method = "auto"
    calls: Annotated[int | None, Field(ge=1, le=1000)] = None
    tokens: Annotated[int | None, Field(ge=1, le=100_000_000)] = None
    seconds: Annotated[float | None, Field(gt=0, le=86_400)] = None

    def wish(self) -> Wish:
        limits = Budget(self.calls, self.tokens, self.seconds)
        return Wish(self.question, tuple(self.topics), self.choice, limits)


class AskedReply(BaseModel):
    run: str
    talk: str


class Named(_Form):
    """Either a path in a chosen folder, or the group that files were uploaded under."""

    path: Annotated[str, StringConstraints(max_length=1000)] = ""
    group: Annotated[str, StringConstraints(max_length=32)] = ""


class ListedSource(BaseModel):
    id: str
    name: str
    uploaded: bool


class SourcesReply(BaseModel):
    sources: list[ListedSource]
    added: list[str] = []
