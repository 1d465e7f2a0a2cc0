"""The explorer: a page with a map of who goes, and what it asks the service for (see `scenes.py`)."""
