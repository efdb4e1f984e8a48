"""The brain atlas: from the files of a source to the normalised expression of each age.

A source returns the bytes of the servers' files: ``ontology()``, ``genes()`` and ``listing(age)``
(JSON in the servers' envelope, all pages), ``annotation(age)`` and ``energy(age, id)`` (zips), and
``truth(age)`` (the planted truth as CSV; None for measured data). ``describe_url(role, ...)`` is
the origin of a file, whose role is the name of its method; ``simulated`` is a flag. The steps after
`sparsekm.atlas.retrieval` do not depend on the source. Snakemake reads this module without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

SOURCES = {
    "phantom": ("sparsekm.atlas.phantom.source", "PhantomSource"),
    "allen": ("sparsekm.atlas.allen", "AllenSource"),
}
"""Module and class of each source, imported on demand."""

TREATMENT = "ISH"
ORGANISM_ID = 2
PLANES = {"coronal": 1, "sagittal": 2}

ONTOLOGY_ID = 12
ROOT_ID = 15564
SPINAL_CORD_ID = 17651
TRACTS_ID = 17735
REGION_LEVEL = 3
TISSUES = ("brain", "spinal_cord", "ventricle", "tract")

NO_DATA = -1.0
"""Energy of a voxel that no section covers; 0 means no measured expression."""

AGES = {"E11.5": 1, "E13.5": 2, "E15.5": 3, "E18.5": 5, "P4": 6, "P14": 7, "P28": 8}
"""The seven main ages, in the order of development, with the ids of the spaces of their grids."""


def annotation_file(age: str) -> str:
    """Name the zip with the grid annotation of an age."""
    return f"{age.replace('.', 'pt')}_DevMouse2012_gridAnnotation.zip"


def open_source(name: str, **settings) -> Any:
    """Open a source, a key of `SOURCES`, with its settings: the parameters of its class."""
    module, attribute = SOURCES[name]
    return getattr(import_module(module), attribute)(**settings)
