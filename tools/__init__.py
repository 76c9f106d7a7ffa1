"""What works in a clone only: build, run and record the notebooks."""
