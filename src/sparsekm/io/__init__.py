"""Every file format once: readers of users' matrices, the workflow's files, whole or not at all."""
