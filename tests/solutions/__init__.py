"""Right and wrong solutions of the exercises, one module a notebook, each with its ROWS."""
