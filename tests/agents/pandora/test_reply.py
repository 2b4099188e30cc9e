"""Programs out of replies, whatever is wrapped around them."""

import pytest

from rowhop.agents.pandora.reply import read
from rowhop.errors import ReplyError

CODE = 'answer = orders["n"].sum()'


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CODE}\n```",
        f"```py\n{CODE}",
        f"Sure! Here it is:\n```python\n{CODE}\n```\nHope it helps.",
        f"<think>maybe ```python\nanswer = 1\n```</think>```python\n{CODE}\n```",
        f"{CODE}<|im_end|>",
        f"```\n{CODE}\n```",
        f"```python\nprint(orders)\n```\nor better\n```python\n{CODE}\n```",
        CODE,
    ],
)
def test_wrappers_come_off(text: str) -> None:
    assert read(text, "python").program.code == CODE


def test_the_thought_is_the_rationale() -> None:
    reply = read(f"```python\n# Sum of n.\n{CODE}\n```", "python")
    assert (reply.rationale, reply.program.code) == ("Sum of n.", CODE)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```sql\n-- all\nSELECT 1;\n```", "SELECT 1"),
        ("The query is: \nSELECT a FROM t", "SELECT a FROM t"),
        ("```sql\nSELECT 1; DROP TABLE t\n```", "SELECT 1; DROP TABLE t"),
    ],
)
def test_sql(text: str, code: str) -> None:
    assert read(text, "sql", "duckdb").program.code == code


@pytest.mark.parametrize("text", ["", "I cannot answer that.", "```python\n```"])
def test_prose_is_sent_back(text: str) -> None:
    with pytest.raises(ReplyError, match="holds no program"):
        read(text, "python")
