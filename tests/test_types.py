"""The public API says its types, to people and to type checkers."""

import ast
import inspect
from dataclasses import is_dataclass

import pytest

import sparsekm

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
        f"{place}: {argument.name}"
        for place, signature in signatures(name).items()
        for argument in signature.parameters.values()
        if argument.name != "self" and argument.annotation is argument.empty
    ]
    untyped += [
        f"{place}: result"
        for place, signature in signatures(name).items()
        if signature.return_annotation is signature.empty
    ]
    assert untyped == []


def test_type_checkers_see_every_public_name(project_root):
    package = project_root / "src" / "sparsekm"
    assert (package / "py.typed").is_file()
    stub = ast.parse((package / "__init__.pyi").read_text())
    seen = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module != "sparsekm"
        for alias in node.names
    }
    assert seen == sparsekm._HOMES
