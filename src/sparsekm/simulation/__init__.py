"""Simulated data: the paper's four experiments."""
