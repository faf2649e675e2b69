"""The list of branches that no campaign takes names what is there."""

import ast
from pathlib import Path

from fuzz.faults.planting import functions_of
from fuzz.rules.reach import CORE, read_reasons


def test_each_reason_is_of_modules_and_functions_that_there_are() -> None:
    for each in read_reasons():
        place = Path(CORE, each.where)
        modules = [place] if place.suffix == ".py" else list(place.rglob("*.py"))
        names = {name for module in modules for name, _ in functions_of(ast.parse(module.read_bytes()))}
        assert modules, each
        assert {*each.functions} <= names, each
