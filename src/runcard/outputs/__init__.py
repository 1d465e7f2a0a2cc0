"""What comes out: comparisons, lateness tables, explained decisions, maps, and how each is shown in a terminal."""
