"""All methods on labelled real data sets, compared with published error rates."""
