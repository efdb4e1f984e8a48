"""What the kept and the dropped features are."""
