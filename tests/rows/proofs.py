"""The tests of each row, collected by pytest itself, so that the list has the tests that run."""

import io
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.rows.specification import TABLES, Folder, Row

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, order=True)
class Proof:
    """A test that proves a row: its file and its name, with the parameter if only that one proves it."""

    file: str
    name: str


@dataclass
class _Collector:
    """A pytest plugin that looks at the collected tests and runs none."""

    items: list[pytest.Item] = field(default_factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = list(items)


def collected_proofs() -> Mapping[tuple[str, str], tuple[Proof, ...]]:
    """Return the tests of each row, by table and name. Raise `RuntimeError` if tests cannot be collected."""
    collector, output = _Collector(), io.StringIO()
    files = _find_marking_files()
    arguments = ["--collect-only", "-qq", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *files]
    with redirect_stdout(output), redirect_stderr(output):
        status = pytest.main(arguments, plugins=[collector])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests cannot be collected:\n{output.getvalue()[-4000:]}")
    return _proofs(collector.items)


def _find_marking_files() -> list[str]:
    """Return the test files that have the marker; to import all others takes several times as long."""
    tests = (path for folder in Folder for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")))
    return [str(path) for path in tests if "tests.rows" in path.read_text(encoding="utf-8")]


def _proofs(items: Iterable[pytest.Item]) -> Mapping[tuple[str, str], tuple[Proof, ...]]:
    variants: dict[tuple[Path, str], int] = {}
    marked: dict[tuple[str, str], dict[tuple[Path, str], list[str]]] = {}
    for item in items:
        function = (item.path, getattr(item, "originalname", item.name))
        variants[function] = variants.get(function, 0) + 1
        for marker in item.iter_markers("row"):
            table, name = marker.args
            marked.setdefault((table, name), {}).setdefault(function, []).append(item.name)
    return {row: tuple(sorted(_make_proofs(functions, variants))) for row, functions in marked.items()}


def _make_proofs(
    functions: Mapping[tuple[Path, str], list[str]], variants: Mapping[tuple[Path, str], int]
) -> Iterable[Proof]:
    for (path, function), names in functions.items():
        file = path.relative_to(ROOT).as_posix()
        if len(names) == variants[path, function]:
            yield Proof(file, function)
        else:
            yield from (Proof(file, name) for name in names)


def find_unproved(proofs: Mapping[tuple[str, str], tuple[Proof, ...]]) -> list[tuple[str, Row]]:
    """Return the rows that no test of their own folder proves."""
    return [
        (table, row)
        for table, rows in TABLES.items()
        for row in rows
        if not any(
            proof.file.startswith(f"tests/{row.proved_by}/") for proof in proofs.get((table, row.name), ())
        )
    ]
