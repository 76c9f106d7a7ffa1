"""The package behind the course: small models, each with an oracle. Importing it is light."""

__version__ = "0.1.0"
