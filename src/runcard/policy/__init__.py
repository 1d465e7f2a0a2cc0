"""Who goes: one file per policy, behind one protocol."""
