"""Imports run one way: `web → net → core`, and within each of them in no circle (docs/architecture.md).

And embedders import from the public packages of the core alone (docs/embedding.md).
"""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Final, get_args, get_type_hints

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FLOORS: Final = ("ostiary_core", "ostiary_net", "ostiary_web")
"""From the ground up; a module may import from its own floor and those under it."""
ABOVE: Final = ("fuzz", "tests")


def modules() -> dict[str, Path]:
    """Return every module by its name."""
    found = {}
    for floor, folder in zip(FLOORS, ("core", "net", "web"), strict=True):
        for path in sorted((ROOT / folder / floor).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES: Final = modules()


def find_imports(tree: ast.AST) -> set[str]:
    """Return the modules that a tree imports; of `from a import b` the module `a.b` if there is one."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.add(whole if whole in MODULES else node.module)
    return names


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return what a module of ours imports."""
    return frozenset(find_imports(ast.parse(MODULES[name].read_text(encoding="utf-8"))))


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_from_above_it(name: str) -> None:
    floor = FLOORS.index(name.partition(".")[0])
    for other in imports_of(name):
        package = other.partition(".")[0]
        assert package not in ABOVE
        assert package not in FLOORS or FLOORS.index(package) <= floor, f"{name} imports {other}"


def test_no_imports_run_in_a_circle() -> None:
    # A package is made of its modules, which may ask it for nothing.
    graph = {
        name: {each for each in imports_of(name) if each in MODULES and not name.startswith(f"{each}.")}
        for name in MODULES
    }
    assert len(graph) > 200
    assert circle_in(graph) == []


@pytest.mark.parametrize("floor", FLOORS)
def test_no_imports_between_rooms_run_in_a_circle(floor: str) -> None:
    """Take each folder, and each module beside the folders, as a room (docs/architecture.md)."""
    graph: dict[str, set[str]] = {}
    for name in MODULES:
        if name.startswith(f"{floor}."):
            rooms = {other.split(".")[1] for other in imports_of(name) if other.startswith(f"{floor}.")}
            graph.setdefault(name.split(".")[1], set()).update(rooms - {name.split(".")[1]})
    assert len(graph) > 8
    assert circle_in(graph) == []


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("ostiary_web.")])
def test_faces_share_the_application_and_know_no_other_face(name: str) -> None:
    room = name.split(".")[1] if "." in name else ""
    faces = {"pages": ("api", "cli"), "cli": ("api", "pages"), "api": ("pages", "cli")}
    others = faces.get(room, ("api", "pages", "cli") if room == "application" else ())
    for other in imports_of(name):
        forbidden = tuple(f"ostiary_web.{each}." for each in others)
        assert not other.startswith(forbidden), f"{name} imports {other}"


def test_a_circle_would_be_seen() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert find_imports(ast.parse("from ostiary_core import decide\nimport trio")) == {
        "ostiary_core.decide",
        "trio",
    }


def test_one_module_imports_hypercorn() -> None:
    reaching = [name for name in MODULES if any(each.startswith("hypercorn") for each in imports_of(name))]
    assert reaching == ["ostiary_net.front_door.hypercorn_internals"]


# --- what embedders import


PUBLIC: Final = (
    "ostiary_core",
    "ostiary_core.http",
    "ostiary_core.conformance",
    "ostiary_core.events",
    "ostiary_core.texts",
)
"""Packages from which programs that embed the core import."""
EMBEDDING: Final = ROOT / "docs" / "embedding.md"
EXAMPLES: Final = sorted((ROOT / "docs" / "examples").glob("*.py"))


def python_blocks(page: str) -> list[str]:
    """Return the Python of a page in Markdown."""
    return re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def not_public(source: str) -> list[str]:
    """Return what a program takes from our packages that is not for embedders, by import or by attribute."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules = {alias.asname or alias.name: alias.name for alias in imports if is_ours(alias.name)}
    used = [(module, "") for module in modules.values()]
    for node in nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            used.append((modules[ast.unparse(node.value)], node.attr))
        elif isinstance(node, ast.ImportFrom) and node.module is not None and is_ours(node.module):
            used += [(node.module, alias.name) for alias in node.names]
    return [f"{module} {name}".strip() for module, name in used if not is_public(module, name)]


def public_names(module: str) -> set[str]:
    """Return the names that a module lists in `__all__` or, without it, imports for others."""
    found = import_module(module)
    names = {name for name, item in vars(found).items() if name[0] != "_" and not inspect.ismodule(item)}
    return set(getattr(found, "__all__", names))


def is_public(module: str, name: str) -> bool:
    """Whether embedders may have `name` of `module`; of "", the module itself."""
    return module in PUBLIC and name in {"", *public_names(module)}


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in FLOORS


def listed_names(page: str, module: str) -> dict[str, str]:
    """Return the names in the table under the heading of `module`, each with its file of reference."""
    section = page.partition(f"\n### `{module}`\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`.*?) \|.*\| `(.*)` \|$", section, re.MULTILINE)
    pairs = [(name, file) for cell, file in rows for name in re.findall(r"`(\w+)`", cell)]
    names = dict(pairs)
    assert len(names) == len(pairs), "a name is listed twice"
    return names


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_public_names_only(path: Path) -> None:
    assert not_public(path.read_text(encoding="utf-8")) == []


def test_the_code_of_the_page_for_embedders_imports_public_names_only() -> None:
    blocks = python_blocks(EMBEDDING.read_text(encoding="utf-8"))
    assert any("ostiary_core" in block for block in blocks)
    assert [fault for block in blocks for fault in not_public(block)] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_listed_for_embedders(module: str) -> None:
    names = public_names(module)
    if module == "ostiary_core.events":
        page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
        names -= set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
    listed = listed_names(EMBEDDING.read_text(encoding="utf-8"), module)
    assert listed.keys() == names
    for name, file in listed.items():
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^(class |def |){name}\b", source, re.MULTILINE), f"{name} is not made in {file}"


@pytest.mark.parametrize("module", PUBLIC)
def test_types_of_the_fields_of_public_values_are_public_too(module: str) -> None:
    """Let an embedder make every public value, and distinguish every one that it gets."""
    found = import_module(module)
    named = {name: getattr(found, name) for name in public_names(module)}
    hints = {name: item for name, item in named.items() if isinstance(item, UnionType)}
    for name, item in named.items():
        if isinstance(item, type) and dataclasses.is_dataclass(item):
            hints |= {f"{name}.{field}": hint for field, hint in get_type_hints(item).items()}
    needed = {(part, name) for name, hint in hints.items() for part in types_in(hint)}
    public = {name for each in PUBLIC for name in public_names(each)}
    missing = {(part.__name__, name) for part, name in needed if is_ours(part.__module__)}
    assert {(part, name) for part, name in missing if part not in public} <= HIDDEN


def types_in(hint: Any) -> Iterator[type]:
    """Yield the types that an annotation names, however deep."""
    if isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from types_in(part)


HIDDEN: Final = {
    ("LateTraceId", "Origin.trace_id"),
    ("Sort", "Listing.sort"),
    ("TimeRange", "Listing.ranges"),
    ("Listable", "Listing.resource"),
}
"""Types that stay hidden: a runtime gives a text for the first; the page names the others' module."""


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_class_and_function_says_what_it_is(module: str) -> None:
    for name in public_names(module):
        item = getattr(import_module(module), name)
        if isinstance(item, type) or inspect.isfunction(item):
            # A dataclass without a docstring is given its signature as one.
            assert not (item.__doc__ or f"{name}(").startswith(f"{name}("), f"{module}.{name}"


def test_the_core_is_imported_without_its_doors_and_its_kit() -> None:
    """Import the rules without waiting for the rest."""
    program = "import sys, ostiary_core; print(*(name for name in sys.modules if name.startswith('ostiary')))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = result.stdout.split()
    assert "ostiary_core" in loaded
    assert [name for name in loaded if name.startswith(PUBLIC[1:3])] == []


def test_an_import_of_what_is_not_public_would_be_seen() -> None:
    assert not_public("from ostiary_core.http.form import x") == ["ostiary_core.http.form x"]
    assert not_public("if x:\n    from ostiary_core import draw_token") == ["ostiary_core draw_token"]
    assert not_public("import ostiary_net.sqlite") == ["ostiary_net.sqlite"]
    assert not_public("import ostiary_core as core\ncore.decide(core.oauth)") == ["ostiary_core oauth"]
    assert not_public("import trio\nfrom ostiary_core import decide") == []
    assert python_blocks("```python\nx\n```\n```sh\ny\n```\n") == ["x\n"]
    page = "\n### `a`\n\n| `b`, `c` | a `d` | `f.py` |\n\n### `e`\n\n| `g` | it | `g.py` |\n"
    assert listed_names(page, "a") == {"b": "f.py", "c": "f.py"}
