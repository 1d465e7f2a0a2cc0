"""Benchmarks: fixed work, warm, every answer asserted, ratios to peers and to the machine's limit in the same run."""
