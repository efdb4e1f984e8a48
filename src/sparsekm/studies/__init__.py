"""Studies of the methods; Snakemake reads this module without NumPy."""

RIVALS = {
    "centred": "k-means, not z-scored",
    "variance500": "k-means, largest variance",
    "variable200": "k-means, highly variable",
    "ward": "Ward's tree",
    "spectral": "spectral",
}
"""Titles of the plain methods that run in the yardstick alone; see `sparsekm.studies.yardstick`."""
