"""The backend of a GPU: one CUDA source, compiled when it is first needed, and what calls it."""
