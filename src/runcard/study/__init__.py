"""The paper's numerical study: its experiments as settings files, what they compute, and the report on them."""
