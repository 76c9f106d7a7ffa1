"""Tests of the package: each one's name is a sentence that could be false."""
