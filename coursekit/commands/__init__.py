"""What `python -m coursekit` does."""
