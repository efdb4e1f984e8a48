"""All methods on labelled real data sets, beside published error rates."""
