"""The phantom atlas: a simulated developing brain, written in the files the atlas' servers send."""
