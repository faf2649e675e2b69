"""Imports run one way: `web → net → core`, and within each of them in no circle (docs/architecture.md)."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FLOORS: Final = ("ostiary_core", "ostiary_net", "ostiary_web")
"""From the ground up; a module may import from its own floor and those under it."""
ABOVE: Final = ("fuzz", "tests")


def modules() -> dict[str, Path]:
    """Every module by its name."""
    found = {}
    for floor, folder in zip(FLOORS, ("core", "net", "web"), strict=True):
        for path in sorted((ROOT / folder / floor).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES: Final = modules()


def imported(tree: ast.AST) -> set[str]:
    """What a module names in its imports; of `from a import b` the module `a.b` where there is one."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.add(whole if whole in MODULES else node.module)
    return names


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_from_above_it(name: str) -> None:
    floor = FLOORS.index(name.partition(".")[0])
    for other in imported(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        package = other.partition(".")[0]
        assert package not in ABOVE
        assert package not in FLOORS or FLOORS.index(package) <= floor, f"{name} imports {other}"


def test_no_imports_run_in_a_circle() -> None:
    graph = {
        name: {
            other
            for other in imported(ast.parse(path.read_text(encoding="utf-8")))
            # A package is made of its modules, which may ask it for nothing.
            if other in MODULES and not name.startswith(f"{other}.")
        }
        for name, path in MODULES.items()
    }
    assert len(graph) > 200
    assert circle_in(graph) == []


def test_a_circle_would_be_seen() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert imported(ast.parse("from ostiary_core import decide\nimport trio")) == {
        "ostiary_core.decide",
        "trio",
    }
