"""What comes after the last row: a forecaster with all that it needs, and what it says."""
