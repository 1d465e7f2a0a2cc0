"""Run cards: what a dispatch system that holds lists, and the wall of a watch room, take from a policy."""
