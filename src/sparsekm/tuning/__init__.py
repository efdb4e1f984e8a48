"""Choosing the sparsity: grids, references, the gap curve and the rules that read it."""
