"""The decision service: an HTTP API over policy files, a status board, an audit log and the explorer page."""
