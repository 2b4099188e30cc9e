"""Models that need no weights: one that takes the first of what is offered, one that answers in prose."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rowhop.models import Completion, Message, Options, Usage


class First:
    """Takes the first of what is offered and predicts a person. `verdict` is its verdict as long as it may be, then
    replan; without one, it is content."""

    name, remote, constrains, free = "first", False, True, True

    def __init__(self, verdict: str = "") -> None:
        self.verdict = verdict

    def complete(self, messages: Sequence[Message], options: Options = Options(), listen: object = None) -> Completion:
        if options.grammar:
            return Completion(("1",), Usage(10, 1))
        fields = json.loads(options.schema)["properties"]
        if "verdict" not in fields:
            return Completion((json.dumps({"kind": "person", "many": "one"}),), Usage(10, 9))
        allowed = fields["verdict"]["enum"]
        wanted = (self.verdict, "replan") if self.verdict else ()
        said = next((v for v in wanted if v in allowed), allowed[0])
        return Completion((json.dumps({"thought": "", "verdict": said}),), Usage(10, 9))


class Prose(First):
    constrains = False

    def complete(self, messages: Sequence[Message], options: Options = Options(), listen: object = None) -> Completion:
        return Completion(("Well, that is a hard one, and I would rather talk about lakes.",), Usage(10, 20))
