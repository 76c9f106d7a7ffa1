"""How good a model is: likelihoods, forecasts, and the card that reports them."""
