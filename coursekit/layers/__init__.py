"""Parts that models are built from; each equals PyTorch's module of the same name."""
