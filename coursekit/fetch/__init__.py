"""How a verified file gets here, whatever it holds."""
