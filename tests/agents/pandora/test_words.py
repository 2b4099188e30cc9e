"""Cells that a question names."""

import pytest

from rowhop.agents.pandora.words import mentioned, runs, words


@pytest.mark.parametrize(
    ("question", "cells", "found"),
    [
        ("events in rome", ["Oslo", "Rome"], ("Rome",)),
        ("where is l'aquila?", ["L'Aquila", "Rome"], ("L'Aquila",)),
        ("games at old trafford", ["Old Trafford, Manchester", "Anfield, Liverpool"], ("Old Trafford, Manchester",)),
        ("who is from malmo", ["Malmö"], ("Malmö",)),
        ("how many in the list", ["the", "list", "in"], ()),
        ("races in 2003", ["2003 a long remark about much else"], ()),
        ("最早的时间 北京", ["北京"], ("北京",)),
    ],
)
def test_mentioned(question: str, cells: list[str], found: tuple[str, ...]) -> None:
    assert mentioned(runs(question), cells) == found


def test_what_too_many_cells_share_tells_nothing() -> None:
    cells = [f"league match number {i}x against town" for i in range(30)]
    assert mentioned(runs("how many league match days"), cells) == ()


def test_words_fold_case_accents_and_width() -> None:
    assert words("ＡＢＣ Café-Noir") == ["abc", "cafe", "noir"]
