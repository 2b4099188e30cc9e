"""PPoGA: a plan, then for each step predict, act, observe and think, with two ways to correct oneself."""
