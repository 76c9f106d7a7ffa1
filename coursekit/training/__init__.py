"""How models are trained: the loop, the optimiser's groups, the learning rate's schedule."""
