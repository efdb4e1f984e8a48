"""Fetching over the network: pace, bounds, retries, what was sent."""
