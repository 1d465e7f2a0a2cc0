"""Kernels of the simulation: arrays in, arrays out, serial and without the interpreter's lock."""
