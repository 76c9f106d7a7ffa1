"""One readable module a model family. A model maps contexts to logits; none knows another."""
