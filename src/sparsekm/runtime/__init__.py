"""Compiled kernels, threads, and randomness."""
