"""The relation-path generator as a fine-tuned language model: LoRA on any local causal checkpoint (the paper's way).

Needs torch, transformers and peft (`pip install 'rowhop[train]'`). It learns the same targets as the light model and
is decoded by the same beam, so that only paths the graph has come out.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rowhop.agents.pasemiqa.generator import Start, masked
from rowhop.agents.pasemiqa.light import STOP, TEXT
from rowhop.errors import MissingExtra, SourceError
from rowhop.learn.paths import Example

# Modules that LoRA adapts; most checkpoints of the Llama and Qwen families name them so.
_ADAPTED = ("q_proj", "k_proj", "v_proj", "o_proj")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class LmTraining:
    rounds: int = 2
    rate: float = 2e-4
    rank: int = 8
    batch: int = 4
    seed: int = 0


@dataclass(frozen=True)
class LmFit:
    """`losses` is the mean loss per target token of each round."""

    scorer: LanguageScorer
    examples: int
    losses: tuple[float, ...]
    seconds: float

    def save(self, folder: Path) -> None:
        """The adapter only; the checkpoint stays where it is."""
        self.scorer.model.save_pretrained(folder)


def _torch() -> tuple[Any, Any, Any]:
    try:
        import peft
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(
            f"Fine-tuning a language model needs {error.name}; install it with: pip install 'rowhop[train]'."
        ) from error
    return torch, transformers, peft


def prompt(question: str, kind: str, prefix: Sequence[str]) -> str:
    """What stands before the next hop. Hops are written as words, an inverse one with "of"."""
    told = "".join(f" {hop_words(h)} >" for h in prefix)
    return f"Question: {question}\nFrom: {kind or 'node'}\nPath:{told}"


def hop_words(hop: str) -> str:
    if hop == STOP:
        return "end"
    if hop == TEXT:
        return "text"
    return f"of {hop[1:]}" if hop.startswith("^") else hop


def load_checkpoint(path: str | Path) -> tuple[Any, Any]:
    """(model, tokenizer) of a folder in the transformers layout, or of a .gguf file. Weights run no code."""
    torch, transformers, _ = _torch()
    place = Path(path)
    if not place.exists():
        raise SourceError(f"There is no checkpoint {path}. Name a folder with config.json, or a .gguf file.")
    gguf = {"gguf_file": place.name} if place.suffix == ".gguf" else {}
    folder = str(place.parent if gguf else place)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, **gguf)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, torch_dtype=torch.float32, trust_remote_code=False, **gguf
        )
    except (OSError, ValueError) as error:
        raise SourceError(f"The checkpoint {path} could not be read: {error}.") from error
    return model, tokenizer


class LanguageScorer:
    """Scores hops by the log-probability of their words (see `generator.Scorer`)."""

    def __init__(self, model: Any, tokenizer: Any, label: str) -> None:
        self.model, self.tokenizer, self.label = model, tokenizer, label

    @property
    def name(self) -> str:
        return f"fine-tuned language model {self.label}"

    def begin(self, question: str, spots: Sequence[Start]) -> list[object]:
        return [masked(question, spot) for spot in spots]

    def next(self, state: object, kind: str, prefix: Sequence[str], options: Sequence[str]) -> np.ndarray:
        torch, _, _ = _torch()
        head = self.tokenizer(prompt(str(state), kind, prefix))["input_ids"]
        tails = [self.tokenizer(" " + hop_words(o), add_special_tokens=False)["input_ids"] for o in options]
        width = max(map(len, tails))
        rows = torch.tensor([head + t + [t[-1]] * (width - len(t)) for t in tails])
        with torch.no_grad():
            logits = self.model(rows).logits[:, len(head) - 1 : -1].log_softmax(-1)
        scores = [sum(float(logits[i, j, token]) for j, token in enumerate(tail)) for i, tail in enumerate(tails)]
        return np.array(scores) - float(np.logaddexp.reduce(np.array(scores)))


def train_lm(
    examples: Sequence[Example],
    checkpoint: str | Path,
    how: LmTraining = LmTraining(),
    progress: Progress | None = None,
) -> LmFit:
    """Maximise the likelihood of each next hop's words; everything else of the prompt is not learnt."""
    torch, _, peft = _torch()
    if not examples:
        raise SourceError("There is nothing to train on: no question has a planned node and gold nodes.")
    begun = time.monotonic()
    torch.manual_seed(how.seed)
    base, tokenizer = load_checkpoint(checkpoint)
    model = peft.get_peft_model(
        base, peft.LoraConfig(r=how.rank, lora_alpha=2 * how.rank, target_modules=list(_ADAPTED), task_type="CAUSAL_LM")
    )
    lessons = [_tokens(tokenizer, e.question, e.kind, target) for e in examples for target, w in e.targets if w > 0.1]
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=how.rate)
    order = random.Random(how.seed)
    losses = []
    model.train()
    for number in range(how.rounds):
        order.shuffle(lessons)
        total = 0.0
        for i in range(0, len(lessons), how.batch):
            loss = model(**_batch(torch, lessons[i : i + how.batch])).loss
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            total += float(loss) * len(lessons[i : i + how.batch])
            if progress:
                progress("fine-tuning", number * len(lessons) + i, how.rounds * len(lessons))
        losses.append(total / len(lessons))
    model.eval()
    scorer = LanguageScorer(model, tokenizer, Path(checkpoint).name)
    return LmFit(scorer, len(examples), tuple(losses), time.monotonic() - begun)


def _tokens(tokenizer: Any, question: str, kind: str, target: Sequence[str]) -> tuple[list[int], list[int]]:
    """(tokens, labels) of one target path; labels are -100 where nothing is learnt."""
    ids = list(tokenizer(prompt(question, kind, ()))["input_ids"])
    labels = [-100] * len(ids)
    steps = [*target, STOP] if target else [TEXT]
    for step in steps:
        words = tokenizer(" " + hop_words(step), add_special_tokens=False)["input_ids"]
        mark = tokenizer(" >", add_special_tokens=False)["input_ids"] if step not in (STOP, TEXT) else []
        ids += [*words, *mark]
        labels += [*words, *[-100] * len(mark)]
    return ids, labels


def _batch(torch: Any, lessons: Sequence[tuple[list[int], list[int]]]) -> dict[str, Any]:
    width = max(len(ids) for ids, _ in lessons)
    pad = [(ids + [0] * (width - len(ids)), labels + [-100] * (width - len(labels))) for ids, labels in lessons]
    mask = [[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in lessons]
    return {
        "input_ids": torch.tensor([ids for ids, _ in pad]),
        "labels": torch.tensor([labels for _, labels in pad]),
        "attention_mask": torch.tensor(mask),
    }
