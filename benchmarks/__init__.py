"""Side-by-side measurements: a published recipe and ours, in one run on one machine."""
