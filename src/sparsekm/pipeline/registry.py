"""The methods by name, from ``methods.toml``, the only source of methods for other code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True)
class Method:
    """A clustering method as the workflow runs and draws it; ``methods.toml`` explains the fields.

    The estimator is imported on demand, because Snakemake looks up methods each time it starts and
    should not have to load estimators.
    """

    title: str
    color: str
    marker: str
    linestyle: str | tuple  # of matplotlib
    name: str = ""
    about: str = ""
    text: str = ""
    module: str = ""  # of the estimator; not imported by name, so that digests need not follow it
    class_name: str = ""
    tuning: str = "none"
    search: tuple[str, ...] = ()
    penalty: str | None = None
    sparsities: Mapping[str, float] = field(default_factory=dict)
    maximises: bool = False
    default: bool = False
    reference: str = ""
    doi: str = ""

    @property
    def estimator(self) -> type:
        """Class of the estimator."""
        return getattr(import_module(self.module), self.class_name)


def _read_methods() -> dict[str, Method]:
    text = Path(__file__).with_name("methods.toml").read_text(encoding="utf-8")
    methods = {}
    for name, fields in tomllib.loads(text).items():
        line = fields.pop("linestyle")
        fields["linestyle"] = line if isinstance(line, str) else (line[0], tuple(line[1]))
        module, _, kind = fields.pop("estimator").rpartition(".")
        methods[name] = Method(name=name, module=module, class_name=kind, **fields)
    return methods


METHODS = _read_methods()
DEFAULT_METHODS = [name for name, method in METHODS.items() if method.default]


def get_method(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise ValueError(f"method={name!r} should be one of {sorted(METHODS)}.")
    return METHODS[name]


def method_look(name: str) -> Method:
    """Return the look of a method; an unknown method is grey and has its name as title."""
    return METHODS.get(name) or Method(name, METHODS["kmeans"].color, "o", "-")
