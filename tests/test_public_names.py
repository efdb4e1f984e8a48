"""The public names: typed, and what is imported is declared."""

import ast
import importlib
import inspect
import re
import sys
import tomllib
from dataclasses import is_dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import sparsekm
from sparsekm import simulation
from sparsekm.pipeline.provenance import source_files

PUBLIC = [name for name in sparsekm.__all__ if name != "__version__"]


def signatures(name):
    """Give what may be called of a public name: itself, or its own constructor and methods."""
    thing = getattr(sparsekm, name)
    if not inspect.isclass(thing):
        return {name: inspect.signature(thing)}
    return {
        f"{name}.{method}": inspect.signature(function)
        for home in thing.__mro__
        if home.__module__.startswith("sparsekm")
        for method, function in vars(home).items()
        if inspect.isfunction(function)
        # The constructor that `dataclass` writes takes its types from the fields.
        and ((method == "__init__" and not is_dataclass(home)) or not method.startswith("_"))
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_and_result_has_a_type_of(name):
    untyped = [
        f"{place}: {what}"
        for place, signature in signatures(name).items()
        for what, kind in [
            *((part, argument.annotation) for part, argument in signature.parameters.items()),
            ("result", signature.return_annotation),
        ]
        if kind is inspect.Signature.empty and what != "self"
    ]
    assert untyped == []


@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_has_an_example_of_a_class_and_says_what_an_estimator_raises(name):
    thing = getattr(sparsekm, name)
    if not inspect.isclass(thing):
        return
    assert "Examples\n" in inspect.getdoc(thing)
    if issubclass(thing, BaseEstimator):
        silent = [
            method
            for method in signatures(name)
            if not method.endswith("__init__")
            and "\nRaises\n------\n" not in inspect.getdoc(getattr(thing, method.split(".")[1]))
        ]
        assert silent == []


# Further sections and examples of methods, quotes of docstrings of one line, and what self is.
NOT_ASKED = {"SA01", "ES01", "EX01", "GL02", "RT03"}
DOCUMENTED = [f"sparsekm.{name}" for name in PUBLIC] + [
    f"sparsekm.{room}.{name}" for room in ("tl", "pl") for name in getattr(sparsekm, room).__all__
]
DOCUMENTED += [
    f"sparsekm.simulation.{name}"
    for name, thing in vars(simulation).items()
    if getattr(thing, "__module__", "") == simulation.__name__ and inspect.getdoc(thing)
    if (inspect.isfunction(thing) or inspect.isclass(thing)) and not name.startswith("_")
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstrings_are_complete_for_numpydoc(name):
    *path, last = name.split(".")
    thing = getattr(importlib.import_module(".".join(path)), last)
    homes = [home for home in getattr(thing, "__mro__", [thing]) if "sparsekm" in home.__module__]
    places = [f"{home.__module__}.{home.__qualname__}" for home in homes[:1]]
    for home in homes if inspect.isclass(thing) else []:
        places += [
            f"{home.__module__}.{home.__qualname__}.{method}"
            for method, function in vars(home).items()
            if not method.startswith("_") and callable(function)
        ]
    found = {place: numpydoc_errors(place) for place in places}
    assert {place: errors for place, errors in found.items() if errors} == {}


def numpydoc_errors(place):
    return [error for error in validate(place)["errors"] if error[0] not in NOT_ASKED]


def test_type_checkers_see_every_public_name(project_root):
    package = project_root / "src" / "sparsekm"
    assert (package / "py.typed").is_file()
    stub = ast.parse((package / "__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname for node in imports for alias in node.names}
    assert seen == set(dir(sparsekm)) == {*sparsekm.__all__, "pl", "tl"} - {"__version__"}


ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = packages_distributions()


def split(requirements):
    pairs = (re.fullmatch(r"([\w.-]+) ?(.*)", requirement) for requirement in requirements)
    return {match[1].lower(): match[2] for match in pairs}


CORE = split(PROJECT["dependencies"])
EXTRAS = PROJECT["optional-dependencies"]
READ = ("workflow", "excel", "parquet", "zarr")
WORKFLOW = CORE | split(part for extra in READ for part in EXTRAS[extra])


def imported(file):
    """Give the top-level names that a file imports, anywhere in it."""
    if file.suffix != ".py":
        return set(re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.M))
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names


def undeclared(files, declared):
    """Give each third-party import that no declared distribution holds, with its files."""
    # Scripts import what stands beside them.
    own = {"benchmarks", *(file.stem for file in (ROOT / "scripts").glob("*.py"))}
    own |= {folder.name for folder in (ROOT / "src").iterdir()}
    own |= {file.stem for file in (ROOT / "workflow").glob("*.py")}
    return {
        (name, file.relative_to(ROOT).as_posix())
        for file in files
        for name in imported(file) - sys.stdlib_module_names - own
        if not {found.lower() for found in DISTRIBUTIONS.get(name, [])} & declared.keys()
    }


@pytest.mark.parametrize("folder", ["src", "scripts", "workflow", "benchmarks"])
def test_every_import_is_declared_in_pyproject(folder):
    files = [file for suffix in ("py", "smk") for file in (ROOT / folder).rglob(f"*.{suffix}")]
    assert files
    assert undeclared(files, WORKFLOW) == set()


def test_public_names_need_core_dependencies_only():
    package = Path(sparsekm.__file__).parent
    homes = {getattr(sparsekm, name).__module__ for name in sparsekm.__all__[1:]}
    files = [file for file in source_files(package / "metrics.py", *homes) if file.suffix == ".py"]
    assert files
    assert undeclared(files, CORE) == set()


def test_the_conda_environment_holds_what_the_package_imports_in_the_versions_of_the_lock():
    conda = split(yaml.safe_load((ROOT / "envs" / "sparsekm.yaml").read_text())["dependencies"])
    conda["matplotlib"] = conda.pop("matplotlib-base")
    assert undeclared(list((ROOT / "src" / "sparsekm").rglob("*.py")), conda) == set()
    assert conda.pop("python") == "=3.11"
    lock = (ROOT / "requirements.lock").read_text()
    # Where versions differ by that of Python, the first is that for the oldest.
    pinned = dict(reversed(re.findall(r"^([\w.-]+)==(\d+\.\d+)", lock, re.M)))
    assert conda == {name: f"={pinned[name]}" for name in conda}
    assert conda.keys() <= WORKFLOW.keys()


def test_the_lock_pins_every_dependency_with_hashes_and_no_address():
    lock = (ROOT / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([\w.-]+)==.* \\\n    --hash=sha256:", lock, re.M))
    assert {name.lower() for name in WORKFLOW} <= pinned
    assert not re.search(r"://|--(extra-)?index|--find-links", lock)
