"""The brain atlas: from the files of a source to the normalised expression of each age.

A source returns the bytes of the servers' files and may raise the errors of `sparsekm.network`;
`sparsekm.atlas.retrieval` checks and stores them, and everything after that is independent of the
source. It has the methods ``ontology()``, ``genes()`` and ``listing(age)`` (JSON in the servers'
envelope, all pages), ``annotation(age)`` and ``energy(age, section_data_set_id)`` (zips),
``truth(age)`` (the planted truth as CSV; None for measured data), ``describe_url(role, ...)`` (the
origin of a file, whose role is the name of its method) and the flag ``simulated``.

Snakemake reads this module without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

SOURCES = {
    "phantom": ("sparsekm.atlas.phantom.source", "PhantomSource"),
    "allen": ("sparsekm.atlas.allen", "AllenSource"),
}
"""Module and class of each source. They are imported on demand, so that an analysis of the real
atlas does not depend on the code of the phantom."""


def open_source(name: str, **settings) -> Any:
    """Open a source, a key of `SOURCES`, with its settings: the parameters of its class."""
    if name not in SOURCES:
        raise ValueError(f"source={name!r} should be one of {', '.join(SOURCES)}.")
    module, attribute = SOURCES[name]
    return getattr(import_module(module), attribute)(**settings)
