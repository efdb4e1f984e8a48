"""Parts of the package used only by the workflow: methods, seeds, digests, problems."""
