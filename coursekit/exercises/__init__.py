"""Checks for the exercises, one module a notebook. They do not know whose solution they run."""
