"""File formats: readers for users' matrices, and the workflow's own files, written atomically."""
