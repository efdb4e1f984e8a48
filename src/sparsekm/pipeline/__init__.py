"""What the workflow needs of the package: methods by name, seeds, digests, the problem posed."""
