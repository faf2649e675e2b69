"""The core does no I/O and keeps no state: by its imports, by its syntax trees, and by running it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ostiary_core
from tests.test_imports import find_imports

ROOT = Path(ostiary_core.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

ALLOWED = {
    *("base64", "binascii", "collections.abc", "dataclasses", "enum", "hashlib", "hmac"),
    *("ipaddress", "json", "operator", "re", "types", "typing", "unicodedata", "urllib.parse", "zlib"),
}
"""Modules of the standard library for the core: calculation, and nothing that reads a clock, randomness, the
environment, a file or a socket. Every module that is not named here is refused."""

FORBIDDEN_CALLS = frozenset(
    {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals", "id", "hash"}
)
"""`id` and the built-in `hash` of texts differ from one process to the next."""

MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_CALLS = frozenset({"list", "dict", "set", "bytearray", "defaultdict", "deque", "Counter", "count"})


def impurities(source: str) -> list[str]:
    """Return each statement of a module that would read, write, wait for or remember something."""
    tree = ast.parse(source)
    found = [
        f"imports {name}"
        for name in find_imports(tree)
        if name not in ALLOWED and name.split(".")[0] != "ostiary_core"
    ]
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                found.append("is asynchronous")
            case ast.Global() | ast.Nonlocal():
                found.append(f"rebinds {', '.join(node.names)}")
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS and not _is_own_hash(tree, node):
                found.append(f"calls {name}")
            case ast.FunctionDef() | ast.ClassDef() if any(
                "cache" in ast.unparse(decorator) for decorator in node.decorator_list
            ):
                found.append(f"remembers in {node.name}")
            case ast.FunctionDef() if any(
                _is_mutable(default) for default in [*node.args.defaults, *node.args.kw_defaults] if default
            ):
                found.append(f"has a mutable default in {node.name}")
    return found + [f"holds a mutable {name}" for name in mutable_names(tree)]


def _is_own_hash(tree: ast.AST, call: ast.Call) -> bool:
    """Whether a call is in `__hash__`, which decides nothing and may call `hash`."""
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "__hash__" and call in ast.walk(node)
        for node in ast.walk(tree)
    )


def mutable_names(tree: ast.Module) -> Iterator[str]:
    """Yield names of a module and its classes that are bound to mutable values."""
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for statement in (statement for body in bodies for statement in body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [ast.unparse(target) for target in targets]
            if _is_mutable(statement.value) and names != ["__all__"]:
                yield from names


def _is_mutable(value: ast.expr) -> bool:
    return isinstance(value, MUTABLE) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in MUTABLE_CALLS
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_of_the_core_is_pure(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8")) == []


def test_every_allowed_import_is_used() -> None:
    assert {name for path in MODULES for name in find_imports(ast.parse(path.read_text()))} >= ALLOWED


PLANTED = r"""
import time
import os.path
from datetime import datetime\ndatetime.now()
from datetime import date\nx = date.today
import random
import trio
import functools
from ostiary_net.runtime.clock import Clock
def f() -> None:\n    import os
if False:\n    from os import environ
async def f() -> None: ...
def f() -> None:\n    open('x')
print('x')
x = hash('x')
exec('x = 1')
__import__('os')
CACHE = {}
SEEN: list[str] = []
SEEN = set()
class A:\n    known = {}
def f(seen=[]): ...
def f(*, seen={}): ...
@functools.cache\ndef f(): ...
def f():\n    global x
"""
HARMLESS = r"""
from types import MappingProxyType\nX = MappingProxyType({1: 2})
X = (1, 2)
X = frozenset({1})
def f():\n    seen = []\n    return seen
class A:\n    def __hash__(self):\n        return hash(1)
__all__ = ['x']
from ostiary_core.model.why import Why
"""


def test_planted_impurities_are_found_and_pure_code_passes() -> None:
    for line in PLANTED.strip().splitlines():
        assert impurities(line.replace("\\n", "\n")), line
    for line in HARMLESS.strip().splitlines():
        assert impurities(line.replace("\\n", "\n")) == [], line


LIVE = """
import sys, time, random, secrets, os
from tests.core import test_account, test_code, test_session_rotation, test_http_answers
from tests.support.story import given
from ostiary_core import Why

def refuse(*anything, **more):
    raise AssertionError("a clock, randomness or the environment was read")

for module, names in ((time, "time time_ns monotonic monotonic_ns perf_counter sleep"),
                      (random, "random getrandbits"), (secrets, "token_bytes"), (os, "urandom getenv")):
    for name in names.split():
        setattr(module, name, refuse)

seen = []
sys.addaudithook(lambda event, arguments: seen.append((event, arguments)))
test_code.test_a_code_is_redeemed_for_a_session_and_a_pair(given())
test_session_rotation.test_the_sweeper_erases_the_salt_after_the_grace_and_not_before()
test_session_rotation.test_a_scope_too_wide_is_refused_and_the_pair_rotated_all_the_same(given())
test_account.test_a_password_is_changed_by_entering_the_current_one(given())
test_http_answers.test_a_token_that_is_not_the_callers_own_is_only_inactive()
harmless = {"object.__getattr__", "object.__setattr__", "sys._getframe"}
touched = sorted({event for event, _ in seen} - harmless)
assert not touched, touched
print("lived")
"""


def test_a_whole_life_of_tokens_touches_nothing_of_the_machine() -> None:
    """Watch Python's audit hooks, which report every file, socket, process and import: none may come."""
    result = subprocess.run(
        [sys.executable, "-c", LIVE],
        cwd=ROOT.parents[1],
        env={"PYTHONPATH": f"{ROOT.parent}:{ROOT.parents[1]}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stdout == "lived\n", result.stderr
