"""What happens inside a model: gradients by hand, activations, what depends on what."""
