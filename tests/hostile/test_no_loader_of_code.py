"""No line of the project loads pickles, evaluates text, or unpacks archives to disk."""

import ast

import pytest

# What runs code that stands in a file, or writes where a file says.
FORBIDDEN = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "shelve",
    "marshal",
    "read_pickle",
    "extractall",
    "unpack_archive",
    "eval",
    "exec",
    "unsafe_load",
    "full_load",
}
# These have a safe form: np.load with allow_pickle=False, yaml.safe_load, json.
FORBIDDEN_CALLS = {("np", "load"), ("numpy", "load"), ("yaml", "load"), ("joblib", "load")}
SAFELY = "np.load(opened, allow_pickle=False)"


def names_in(tree):
    """Give every name that a module imports, calls or takes from another."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def pairs_in(tree):
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    safe = {call.func for call in calls if ast.unparse(call) == SAFELY}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from [] if node in safe else [(node.value.id, node.attr)]


def files(root):
    return [*(root / "src").rglob("*.py"), *(root / "scripts").glob("*.py")]


def test_nothing_that_loads_code_is_named(project_root):
    found = files(project_root)
    assert len(found) > 100
    for file in found:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        assert not FORBIDDEN.intersection(names_in(tree)), file
        assert not FORBIDDEN_CALLS.intersection(pairs_in(tree)), file


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "pd.read_pickle(a)",
        "eval(a)",
        "np.load(a)",
        "np.load(opened, allow_pickle=True)",
    ],
)
def test_the_look_sees_what_it_should(line):
    tree = ast.parse(line)
    assert FORBIDDEN.intersection(names_in(tree)) or FORBIDDEN_CALLS.intersection(pairs_in(tree))
