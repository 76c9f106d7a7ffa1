"""From text to integers and back."""
