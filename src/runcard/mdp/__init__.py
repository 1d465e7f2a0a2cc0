"""The dispatch problem as arrays, and its exact evaluation and solution."""
