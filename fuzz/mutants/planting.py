"""Put changed code into the existing function objects, so that a mutant needs no new import."""

import ast
import gc
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from fuzz.faults.planting import list_codes
from fuzz.mutants.mutations import Mutant, compile_tree, mutate_tree, parse, statements_of, target_of

_HIT: Final = "__note_statement__"
_PRINT_CALLS: Final = """
import importlib, json, sys
names, calls = set(sys.argv[1:]), set()
def note(frame, event, _):
    module = frame.f_globals.get("__name__")
    if event == "call" and module in names:
        calls.add((module, frame.f_code.co_qualname.replace(".<locals>", "")))
sys.setprofile(note)
for name in names:
    importlib.import_module(name)
sys.setprofile(None)
print(json.dumps(sorted(calls)))
"""


def list_calls_of_imports(modules: Sequence[str]) -> set[tuple[str, str]]:
    """Return the functions that run while the modules are imported, each with its module."""
    asked = [sys.executable, "-c", _PRINT_CALLS, *modules]
    printed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return {(module, function) for module, function in json.loads(printed)}


def index_functions() -> dict[CodeType, list[FunctionType]]:
    """Return every function object by its code, wherever it is referenced."""
    functions: dict[CodeType, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # the garbage collector does not list frozen objects
    for each in gc.get_objects():
        if type(each) is FunctionType:
            functions[each.__code__].append(each)
    return functions


def swap(module: str, tree: ast.Module, functions: dict[CodeType, list[FunctionType]]) -> bool:
    """Have all functions of a module run the code of a changed tree; return whether any changed."""
    codes = list_codes(compile_tree(module, tree))
    changed = {(code.co_qualname, code.co_firstlineno): code for code in codes}
    file = sys.modules[module].__file__
    swapped = False
    for code, holders in functions.items():
        if code.co_filename != file:
            continue
        new = changed.get((code.co_qualname, code.co_firstlineno))
        if new is None or new == code or len(new.co_freevars) != len(code.co_freevars):
            continue
        for function in holders:
            function.__code__ = new
            swapped = True
    return swapped


def plant(mutant: Mutant, functions: dict[CodeType, list[FunctionType]]) -> bool:
    """Plant the mutant in this process until it ends; return False if no running code changes."""
    tree = mutate_tree(mutant)
    if mutant.function:
        return swap(mutant.module, tree, functions)
    home = vars(sys.modules[mutant.module])
    made = _make_again(mutant, tree, home)
    # Tables of other modules hold this module's functions, so these run the changed code as well.
    swapped = swap(mutant.module, tree, functions)
    old = {name: home[name] for name in made}
    for name, new in made.items():
        for key, module in list(sys.modules.items()):
            if key.startswith("ostiary_") and vars(module).get(name) is old[name]:
                setattr(module, name, new)
        for function in (each for holders in functions.values() for each in holders):
            if function.__module__ == mutant.module:
                defaults, by_name = function.__defaults__, function.__kwdefaults__ or {}
                function.__defaults__ = defaults and tuple(_exchange(defaults, old[name], new))
                by_name.update(zip(by_name, _exchange(by_name.values(), old[name], new), strict=True))
        # All pairs at first, as the variables that find them would be handed over as well.
        for before, after in [*_pair(old[name], new)]:
            _hand_over(before, after)
    return bool(made) or swapped


def _pair(old: Any, new: Any) -> Iterator[tuple[object, object]]:
    """Yield an old table or object with its new one, and the parts of a table that differ."""
    is_table = isinstance(old, Mapping | list | tuple) or is_dataclass(old)
    if not (is_table or _is_object(old)) or not old or type(old) is not type(new) or old == new:
        return
    yield old, new
    if is_dataclass(old):
        old, new = ({each.name: getattr(part, each.name) for each in fields(old)} for part in (old, new))
    if isinstance(old, Mapping):
        old, new = ([table[key] for key in old if key in new] for table in (old, new))
    if isinstance(old, list | tuple):
        for before, after in zip(old, new, strict=False):
            yield from _pair(before, after)


def _is_object(value: object) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, type | FunctionType)


def _hand_over(old: object, new: object) -> None:
    """Give a new value to all that hold the old one in a table, an attribute, or a variable of a closure."""
    gc.unfreeze()
    for holder in gc.get_referrers(old):
        if isinstance(holder, dict):
            holder.update(zip(holder, _exchange(holder.values(), old, new), strict=True))
        elif isinstance(holder, list):
            holder[:] = _exchange(holder, old, new)
        elif type(holder) is tuple:
            _hand_over(holder, tuple(_exchange(holder, old, new)))
        elif isinstance(holder, CellType):
            holder.cell_contents = new
        for name in getattr(type(holder), "__slots__", ()):
            if getattr(holder, name, None) is old:
                object.__setattr__(holder, name, new)


def _exchange(values: Iterable[object], old: object, new: object) -> list[object]:
    """Return values with a new one for the old; the closure that holds the old one is gone after it."""
    return [new if value is old else value for value in values]


def _make_again(mutant: Mutant, tree: ast.Module, home: dict[str, Any]) -> dict[str, Any]:
    """Return a module's values that differ by a changed constant: its own, and those computed from it.

    Routes that are added to an object that was made again are added again.
    """
    names, made = dict(home), dict[str, Any]()
    first = list(statements_of(tree))[mutant.statement]
    for statement in tree.body[tree.body.index(first) :]:
        is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign)
        at_import = getattr(statement, "decorator_list", [statement])
        mentioned = {node.id for part in at_import for node in ast.walk(part) if isinstance(node, ast.Name)}
        again = mentioned & (
            made.keys() if is_assignment else {name for name in made if _is_object(made[name])}
        )
        if statement is first or again:
            exec(compile_tree(mutant.module, ast.Module([statement], [])), names)
        if is_assignment and (statement is first or again):
            name = target_of(statement)
            if names[name] != home[name]:
                made[name] = names[name]
    return made


def note_statements(
    module: str, functions: dict[CodeType, list[FunctionType]], note: Callable[[tuple[str, int]], object]
) -> None:
    """Call `note` for every statement of a module's functions before it is run."""
    tree = parse(module)
    numbers = {id(node): number for number, node in enumerate(statements_of(tree))}
    vars(sys.modules[module])[_HIT] = lambda number: note((module, number))
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                setattr(node, name, [each for one in body for each in _record_statement(one, numbers)])
    swap(module, tree, functions)


def _record_statement(statement: ast.stmt, numbers: dict[int, int]) -> list[ast.stmt]:
    if id(statement) not in numbers:
        return [statement]
    call = ast.Call(ast.Name(_HIT, ast.Load()), [ast.Constant(numbers[id(statement)])], [])
    return [ast.copy_location(ast.Expr(call), statement), statement]
