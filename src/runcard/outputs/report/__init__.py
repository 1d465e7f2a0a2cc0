"""The report of a city: one page that a fire chief reads in five minutes, with the details below."""
