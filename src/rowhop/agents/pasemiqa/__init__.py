"""PASemiQA: a plan of nodes and relation paths, then an agent that searches, queries and finishes."""
