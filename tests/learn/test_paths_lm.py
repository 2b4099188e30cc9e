"""The language-model generator: its prompts, what it says without torch, and, where torch is there, that it learns."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from rowhop.errors import MissingExtra, SourceError
from rowhop.learn.paths import Example
from rowhop.learn.paths_lm import LmTraining, hop_words, load_checkpoint, prompt, train_lm

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "transformers", "peft"))
without_torch = pytest.mark.skipif(HAS_TORCH, reason="torch is installed here; its absence cannot be shown.")
with_torch = pytest.mark.skipif(
    not HAS_TORCH, reason="needs torch, transformers and peft: pip install 'rowhop[train]'."
)
LESSONS = [
    Example("who directed film", "film", ((("directed by",), 1.0),)),
    Example("who plays in film", "film", ((("starring",), 1.0),)),
    Example("what is it", "film", (((), 1.0),)),
]


def test_prompts() -> None:
    assert prompt("who directed film", "film", ["^starring"]) == (
        "Question: who directed film\nFrom: film\nPath: of starring >"
    )
    assert [hop_words(h) for h in ("a", "^a", "<stop>", "<text>")] == ["a", "of a", "end", "text"]


@without_torch
def test_without_the_extra_the_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'rowhop\[train\]'"):
        train_lm(LESSONS, tmp_path)


@with_torch
def test_a_missing_checkpoint_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no checkpoint"):
        load_checkpoint(tmp_path / "none")


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_a_tiny_model_learns_and_scores(tmp_path: Path) -> None:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = {chr(c): c - 31 for c in range(32, 127)} | {"\n": 0, "?": 96}
    raw = Tokenizer(models.WordLevel(letters, unk_token="?"))
    raw.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="?").save_pretrained(tmp_path)
    config = transformers.LlamaConfig(
        vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    fit = train_lm(LESSONS, tmp_path, LmTraining(rounds=30, rate=2e-2, batch=3))
    assert fit.losses[-1] < fit.losses[0]
    scores = fit.scorer.next("who directed film", "film", (), ["<text>", "directed by", "starring"])
    assert scores.shape == (3,)
    fit.save(tmp_path / "adapter")
    assert (tmp_path / "adapter" / "adapter_config.json").is_file()
