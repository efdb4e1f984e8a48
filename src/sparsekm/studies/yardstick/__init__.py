"""All methods on labelled real data sets, compared with plain ones and published error rates."""

RIVALS = {
    "centred": "k-means, not z-scored",
    "variance500": "k-means, largest variance",
    "variable200": "k-means, highly variable",
    "ward": "Ward's tree",
    "spectral": "spectral",
}
"""Titles of the plain methods that run in the yardstick alone; see `runner.fit_method`."""
