"""The examples in docstrings show what the code does."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")
    for root, part in [("core", ""), ("net", ""), ("web", ""), ("", "fuzz"), ("", "tests"), ("", "docs")]
    for path in sorted((ROOT / root / part).rglob("*.py"))
    if path != Path(__file__) and ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_each_example_gives_what_it_shows(module: str) -> None:
    tried = doctest.testmod(import_module(module), report=True)
    assert tried.attempted
    assert not tried.failed
