"""The phantom atlas: a simulated developing brain in the file formats of the real servers."""
