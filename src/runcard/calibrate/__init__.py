"""A city's numbers from a department's own log, with intervals, and how well they fit."""
