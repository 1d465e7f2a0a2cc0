"""The paper's numerical study: its experiments and their settings, what they compute, and the report on them."""
