"""Matrices of users, in whatever format they come."""
