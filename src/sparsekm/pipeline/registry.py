"""The methods by name, from ``methods.toml``: no other code knows a method but from there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Method:
    """A clustering method as the workflow runs and draws it; ``methods.toml`` explains the fields.

    The estimator is imported on demand: Snakemake looks up methods each time it starts and should
    not have to load the estimators for that.
    """

    title: str
    color: str
    marker: str
    linestyle: str | tuple  # of matplotlib
    name: str = ""
    about: str = ""
    text: str = ""
    class_name: str = ""
    tuning: str = "none"
    penalty: str | None = None
    sparsities: Mapping[str, float] = field(default_factory=dict)
    maximises: bool = False
    default: bool = False
    reference: str = ""
    doi: str = ""

    @property
    def estimator(self) -> type:
        """Class of the estimator."""
        from sparsekm.baselines import penalised_gaussian_mixture, spectral
        from sparsekm.cluster import estimators
        from sparsekm.tuning import sparse_kmeans

        homes = (estimators, sparse_kmeans, spectral, penalised_gaussian_mixture)
        home = next(home for home in homes if hasattr(home, self.class_name))
        return getattr(home, self.class_name)


def _read_methods() -> dict[str, Method]:
    text = Path(__file__).with_name("methods.toml").read_text(encoding="utf-8")
    found = {}
    for name, fields in tomllib.loads(text).items():
        line = fields.pop("linestyle")
        fields["linestyle"] = line if isinstance(line, str) else (line[0], tuple(line[1]))
        found[name] = Method(name=name, class_name=fields.pop("estimator"), **fields)
    return found


METHODS = _read_methods()
DEFAULT_METHODS = [name for name, method in METHODS.items() if method.default]


def get_method(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise ValueError(f"method={name!r} should be one of {sorted(METHODS)}.")
    return METHODS[name]


def method_look(name: str) -> Method:
    """Return a method to draw; an unknown one is grey and has its name as title."""
    return METHODS.get(name) or Method(name, METHODS["kmeans"].color, "o", "-")
