"""How the notebooks are made from their text, run, and checked. No notebook imports this."""
