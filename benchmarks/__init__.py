"""Benchmarks: time, memory and search quality as ratios against scikit-learn in one run."""
