"""What is learnt from questions with known answers: memory and relation paths."""
