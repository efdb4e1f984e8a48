"""Starts, restarts and the search along a path."""
