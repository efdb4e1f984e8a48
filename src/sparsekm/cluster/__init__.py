"""The method: partition and weight steps, alternation, global search, path, estimators."""
