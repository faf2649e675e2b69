"""The list of branches that no campaign takes names what is there."""

import ast
from pathlib import Path

from fuzz.rules.reach import CORE, functions_of, read_reasons


def test_each_reason_is_of_modules_and_functions_that_there_are() -> None:
    for each in read_reasons():
        place = Path(CORE, each.where)
        modules = [place] if place.suffix == ".py" else list(place.rglob("*.py"))
        trees = [ast.parse(module.read_text(encoding="utf-8")) for module in modules]
        names = {name for tree in trees for name, _, _ in functions_of(tree)}
        assert modules, each
        assert {*each.functions} <= names, each
