"""Readers for users' matrices in all supported formats."""
