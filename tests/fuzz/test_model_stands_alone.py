"""The model, and the table of what may be answered, judge the server: they must share nothing with it."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def imports_of(path: Path) -> set[str]:
    """Return every module that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def files_of(module: str) -> list[Path]:
    """Return the files of a module of this repository."""
    base = ROOT.joinpath(*module.split("."))
    return [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]


def test_the_judges_reach_no_module_of_the_core_net_or_web() -> None:
    judges = [*sorted((ROOT / "fuzz" / "model").glob("*.py")), ROOT / "fuzz" / "simulation" / "documented.py"]
    pending = [ROOT / "fuzz" / "__init__.py", *judges]
    seen: set[Path] = set()
    reached: set[str] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        for module in imports_of(path):
            reached.add(module)
            pending += files_of(module)
    assert len(seen) > 5
    assert not {module for module in reached if module.startswith("ostiary")}


def test_no_room_imports_one_above_it() -> None:
    """Compare the layers with those in docs/proving.md; rooms that run campaigns are equals."""
    campaigns = {"rules", "simulation", "processes", "parsers"}
    floors = ({"faults"}, {"shared"}, {"model", "workload"}, campaigns, {"mutants"})
    for height, rooms in enumerate(floors):
        below = set().union(*floors[:height])
        for room in rooms:
            for path in (ROOT / "fuzz" / room).rglob("*.py"):
                named = {module.split(".")[1] for module in imports_of(path) if module.startswith("fuzz.")}
                assert named <= below | {room}, f"{path} imports {named - below}"
