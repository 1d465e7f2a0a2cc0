"""What comes out: policy files, comparisons, explained decisions, simulations as documents, records, maps, curves."""
