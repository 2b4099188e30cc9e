"""Pandora: knowledge as BOXes, a rationale and a program, feedback from the run. `agent` is the loop."""
