"""Measuring answers: benchmarks, metrics that agree with the official evaluators, a resumable runner, reports.

from rowhop import config
from rowhop.eval import EvalOptions, evaluate, render_summary

options = EvalOptions("wikitq", config.load(), data=Path("WikiTableQuestions"), n=30)
print(render_summary(evaluate(options)))
"""

from rowhop.eval.evaluate import EvalOptions, evaluate
from rowhop.eval.runner import Progress
from rowhop.eval.summary import Summary
from rowhop.eval.summary import render as render_summary

__all__ = ["EvalOptions", "Progress", "Summary", "evaluate", "render_summary"]
