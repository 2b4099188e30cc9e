"""A grammar (GBNF) for replies of a model that can be held to one: a thought, then a program whose fields exist.

Only what stands in `["…` right after a name is held to the BOXes' fields; lists of values stay free. A field that
is not there is the most frequent fault of small models, and this makes it impossible to write.
"""

from __future__ import annotations

import json

from rowhop.box import BoxSet

# More names than this make the grammar slow to follow.
MOST = 150

_PYTHON = r"""root ::= "```python\n# " [^\n`]{1,140} "\n" line{1,12} "```"
line ::= item+ "\n"
item ::= [^"'`\n\[] | text | values | "[" inside
inside ::= [^"'`\n\[] | field | "[" inside
text ::= "\"" [^"\n`]* "\"" | "'" [^'\n`]* "'"
values ::= ("isin([" | "= [" | "in [") text ("," " "? text)* "]"
"""


# One thought, one statement, nothing around them. Names are checked by the guard, which can say what is near.
SQL = r"""root ::= "```sql\n-- " [^\n`]{1,140} "\n" ("SELECT" | "WITH") [^`;]+ "```"
"""


def python_grammar(boxes: BoxSet) -> str:
    """Empty where the BOXes have too many fields."""
    names = list(dict.fromkeys(c.name for box in boxes.boxes for c in box.columns))
    if not 0 < len(names) <= MOST:
        return ""
    fields = " | ".join(_literal(json.dumps(name, ensure_ascii=False)) for name in names)
    return _PYTHON + f"field ::= {fields}\n"


def _literal(text: str) -> str:
    """A text as a literal of the grammar's own language."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f'"{escaped}"'
