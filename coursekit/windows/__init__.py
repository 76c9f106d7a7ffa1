"""What a model is fed: stretches of tokens or of a series, cut and scaled."""
