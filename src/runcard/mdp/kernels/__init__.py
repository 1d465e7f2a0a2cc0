"""Kernels: arrays in, arrays filled; serial, without the interpreter lock, split over ranges of states by callers."""
