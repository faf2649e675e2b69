"""Plant a fault: have a function run changed code for a while, for every holder of the function.

No name is patched. The function object itself gets other code, compiled from its changed source, and gets its
own code back afterwards.
"""

import ast
import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

Plant = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A known mistake, and how to plant it."""

    name: str
    sentence: str
    plant: Plant


def read_faults(file: Path) -> tuple[Fault, ...]:
    """Return the faults in a file that is written like a patch.

    The file has the dotted name of a function; below it, indented, the name and the sentence of a fault;
    below that, `-` lines with text of the function and `+` lines with its replacement (`replace_texts`). A
    fault with two entries changes both functions.
    """
    faults: list[tuple[str, str, str, list[str]]] = []
    where = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("    - "):
            faults[-1][3].extend((line[6:], ""))
        elif line.startswith("    + "):
            texts = faults[-1][3]
            texts[-1] += f"\n{line[6:]}" if texts[-1] else line[6:]
        elif line.startswith("  "):
            name, _, sentence = line.strip().partition(": ")
            faults.append((where, name, sentence, []))
        else:
            where = line
    planted: dict[str, Fault] = {}
    for where, name, sentence, texts in faults:
        plants = [planted[name].plant] if name in planted else []
        planted[name] = Fault(name, sentence, combine_plants(*plants, replace_texts(where, *texts)))
    return tuple(planted.values())


def replace_texts(where: str, *texts: str) -> Plant:
    """Return a plant that replaces texts in the source of the function `where`.

    `texts` alternates: an old text, its replacement, the next old text, and so on. A function inside another
    is named as in its `co_qualname`. The plant raises `ValueError` unless each old text occurs exactly once.
    """
    pairs = list(zip(texts[::2], texts[1::2], strict=True))

    @contextmanager
    def planted() -> Iterator[None]:
        module, name = _find(where)
        source = inspect.getsource(module)
        in_source = name.replace(".<locals>", "")
        [node] = [each for qualified, each in functions_of(ast.parse(source)) if qualified == in_source]
        lines = source.splitlines(keepends=True)
        text = "".join(lines[node.lineno - 1 : node.end_lineno])
        for old, new in pairs:
            if text.count(old) != 1:
                raise ValueError(f"{where}: expected {old!r} once, found it {text.count(old)} times")
            text = text.replace(old, new)
        lines[node.lineno - 1 : node.end_lineno] = [text]
        file = str(module.__file__)
        compiled = compile("".join(lines), file, "exec", dont_inherit=True)
        [changed] = [code for code in list_codes(compiled) if code.co_qualname == name]
        kept = [(each, each.__code__) for each in _find_holders(file, name)]
        for function, _ in kept:
            function.__code__ = changed
        try:
            yield
        finally:
            for function, code in kept:
                function.__code__ = code

    return planted


def combine_plants(*plants: Plant) -> Plant:
    """Return one plant that plants all of these."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return planted


def _find(where: str) -> tuple[ModuleType, str]:
    """Split a dotted name into its module and the rest."""
    name, rest = where.rpartition(".")[::2]
    try:
        return import_module(name), rest
    except ModuleNotFoundError:
        module, more = _find(name)
        return module, f"{more}.{rest}"


def functions_of(
    node: ast.AST, within: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield each function of a syntax tree with its dotted name, nested functions and methods included."""
    for each in ast.iter_child_nodes(node):
        name = within
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{within}{each.name}."
            if not isinstance(each, ast.ClassDef):
                yield name[:-1], each
        yield from functions_of(each, name)


def list_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from list_codes(each)


def _find_holders(file: str, name: str) -> list[FunctionType]:
    """Return every function object with this file and qualified name, wherever it is referenced."""
    gc.unfreeze()  # the garbage collector does not list frozen objects
    functions = ((each, each.__code__) for each in gc.get_objects() if type(each) is FunctionType)
    return [each for each, code in functions if (code.co_filename, code.co_qualname) == (file, name)]


TOKEN_LOGGED: Final = Fault(
    "token-logged",
    "the log is told a refresh token",
    replace_texts(
        "ostiary_net.turns.service.Service._finish",
        "self._record_decision(",
        "token = getattr(pending.event, 'refresh_token', None);"
        "token and _log.info('refresh', token=token.reveal()); self._record_decision(",
    ),
)
