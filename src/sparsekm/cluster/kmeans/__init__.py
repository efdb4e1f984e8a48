"""The moves of k-means."""
