"""How the fits were made, according to the attributes of their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sparsekm.pipeline.registry import get_method
from sparsekm.reporting.results import DatasetResult, MethodResult

ATLASES = {
    "phantom": "simulated phantom of the Allen Developing Mouse Brain Atlas",
    "allen": "Allen Developing Mouse Brain Atlas",
}
SEARCHES = {
    "alternate": "alternating search (the paper's Algorithm 1)",
    "global": "global search",
    "em": "EM from several starts",
}
RULES = {
    "max": "the largest gap",
    "one-se": "the smallest sparsity within one standard error of the largest gap",
    "auto": (
        "the largest gap or, if the dropped features correlate with each other, the largest among "
        "the sparsities that keep at most a quarter of the features"
    ),
}
REFERENCES = {
    "permutation": "every feature permuted separately",
    "gaussian": "samples from a single Gaussian with the correlations of the data",
    "shrunk": "samples from a single Gaussian with Ledoit-Wolf shrunk correlations of the data",
    "spatial": "every feature permuted such that its autocorrelation in space remains",
}


def fits(results: Sequence[DatasetResult]) -> list[MethodResult]:
    """List every fit of every data set."""
    return [method for result in results for method in result.methods.values()]


def distinct(values: Iterable[Any]) -> list[Any]:
    """Keep each value once, in order, leaving out None."""
    return list(dict.fromkeys(value for value in values if value is not None))


def attribute(methods: Iterable[MethodResult], name: str) -> list[Any]:
    """List the distinct values of an attribute or parameter over fits."""
    return distinct(
        method.attributes.get(name, dict(method.attributes.get("parameters", {})).get(name))
        for method in methods
    )


def joined(values: Iterable[Any]) -> str:
    """Join words as a sentence does: "a", "a and b", "a, b and c"."""
    words = [str(value) for value in values]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def package_versions(results: Sequence[DatasetResult]) -> dict[str, str]:
    """Return the versions of the packages that made the fits, all if there are several."""
    found: dict[str, list[str]] = {}
    for method in fits(results):
        for name, number in method.attributes.get("versions", {}).items():
            found.setdefault(name, []).append(number)
    return {name: joined(distinct(numbers)) for name, numbers in found.items()}


def data_source(result: DatasetResult) -> str:
    """Describe where a data set comes from."""
    file = Path(str(result.provenance.get("file", ""))).name
    own = "simulated matrix" if result.is_simulated else f"your file {file}".rstrip()
    return ATLASES.get(str(result.provenance.get("source")), own)


def run_table(results: Sequence[DatasetResult]) -> list[tuple[str, str]]:
    """List the settings of the run as pairs of name and value."""
    every = fits(results)
    by_source = {
        source: [result.name for result in results if data_source(result) == source]
        for source in distinct(data_source(result) for result in results)
    }
    pairs = [
        *((f"data: {source}", ", ".join(names)) for source, names in by_source.items()),
        ("methods", joined(distinct(method.title for method in every))),
        (
            "clusters sought (K)",
            "; ".join(
                f"{result.name}: {joined(attribute(result.methods.values(), 'n_clusters'))}"
                for result in results
            ),
        ),
        ("seeds", ", ".join(str(seed) for seed in attribute(every, "seed"))),
        (
            "versions",
            ", ".join(f"{name} {number}" for name, number in package_versions(results).items()),
        ),
    ]
    return [(name, value) for name, value in pairs if value]


def searches(methods: Iterable[MethodResult]) -> dict[str, list[str]]:
    """Describe the searches that ran, each with the titles of its methods.

    The restarts of k-means, also on principal components, are no search over features.
    """
    titles: dict[str, list[str]] = {}
    for method in methods:
        for name in attribute([method], "search"):
            if name != "alternate" or get_method(method.name).penalty is not None:
                titles.setdefault(SEARCHES.get(name, name), []).append(method.title)
    return titles
