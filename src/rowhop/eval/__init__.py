"""Measuring answers: benchmarks, metrics that agree with the official evaluators, a resumable runner, reports."""
