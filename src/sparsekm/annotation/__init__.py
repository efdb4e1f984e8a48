"""Annotation of the kept and the dropped features."""
