"""What the service answers, one file for each part of the API."""
