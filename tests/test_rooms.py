"""The rooms of the package, from the ground up: modules import from their own and those below."""

import ast

import pytest

# Rooms in one row do not know each other either.
ROOMS = """
runtime metrics
cluster
tuning baselines
simulation
io
figures network
pipeline
atlas
annotation
studies
reporting
tl
command pl
"""
ORDER = [row.split() for row in ROOMS.split("\n") if row]


@pytest.fixture(scope="module")
def imports(project_root):
    """Every module of the package with the modules that it imports, wherever in the file."""
    source = project_root / "src"
    files = {}
    for file in (source / "sparsekm").rglob("*.py"):
        parts = file.relative_to(source).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = file

    def imported(file):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}: imports of the package are absolute"
                for name in node.names:
                    module = f"{node.module}.{name.name}"
                    yield module if module in files else node.module

    return {
        name: {module for module in imported(file) if module in files}
        for name, file in files.items()
    }


def test_every_room_imports_only_from_rooms_below(imports):
    floor = {room: number for number, row in enumerate(ORDER) for room in row}
    upwards = []
    for module, found in imports.items():
        for other in found - {"sparsekm"}:
            room, below = (name.split(".")[1] for name in (module, other))
            if room != below and floor[below] >= floor[room]:
                upwards.append(f"{module} imports {other}")
    assert upwards == []


def test_no_module_imports_itself_by_way_of_others(imports):
    left = {name: set(found) for name, found in imports.items()}
    while free := {name for name, found in left.items() if not found}:
        left = {name: found - free for name, found in left.items() if name not in free}
    assert left == {}
