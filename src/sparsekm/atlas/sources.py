"""The common interface to the sources of the atlas's files; Snakemake reads it without NumPy.

A source returns the bytes of the servers' answers; `sparsekm.atlas.retrieval` checks and stores
them. Everything after that is independent of the source.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

SOURCES = {
    "phantom": ("sparsekm.atlas.phantom.source", "PhantomSource"),
    "allen": ("sparsekm.atlas.allen.source", "AllenSource"),
}
"""Module and class of each source. They are imported on demand, so that an analysis of the real
atlas does not depend on the code of the phantom."""


class AtlasSource(Protocol):
    """Returns the files of the atlas as bytes.

    Each method may raise the errors of `sparsekm.network`. The manifest records the origin
    of each file.
    """

    simulated: bool  # whether the data are simulated

    def ontology(self) -> bytes:
        """Return the structure tree: JSON in the servers' envelope."""

    def genes(self) -> bytes:
        """Return the table of genes: JSON in the servers' envelope."""

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age: JSON in the servers' envelope, all pages."""

    def annotation(self, age: str) -> bytes:
        """Return the zip with the grid annotation of an age."""

    def energy(self, age: str, section_data_set_id: int) -> bytes:
        """Return the zip with the energy grid of a section data set."""

    def describe_url(
        self, role: str, age: str | None = None, section_data_set_id: int | None = None
    ) -> str:
        """Return the origin of a file, whose role is the name of one of the methods above."""

    def truth(self, age: str) -> bytes | None:
        """Return the planted truth of an age as CSV; None for measured data."""


def open_source(name: str, **settings) -> AtlasSource:
    """Open a source, a key of `SOURCES`, with its settings.

    The settings of the phantom are ``size`` and ``seed``; those of the servers are the parameters
    of `sparsekm.atlas.allen.source.AllenSource`.
    """
    if name not in SOURCES:
        raise ValueError(f"source={name!r} should be one of {', '.join(SOURCES)}.")
    module, attribute = SOURCES[name]
    return getattr(import_module(module), attribute)(**settings)
