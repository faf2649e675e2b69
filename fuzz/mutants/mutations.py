"""Small changes of a module, each identified by its text and not by its line."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any, Final, TypeVar

N = TypeVar("N", bound=ast.AST)


def _both_ways(*pairs: tuple[type[N], type[N]]) -> dict[type[N], type[N]]:
    """Return a table that turns the first of each pair into the second, and the second into the first."""
    return {old: new for pair in pairs for old, new in (pair, pair[::-1])}


_BOUNDARIES: Final = _both_ways((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
_NEGATIONS: Final = _both_ways(
    *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.Lt, ast.GtE), (ast.LtE, ast.Gt))
)
_OPERATORS: Final = {**_both_ways((ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)), ast.Mod: ast.FloorDiv}
_UNIT: Final = re.compile(r"(?:[A-Z]\w*_)?(?:MS|SECONDS?|MINUTES?|HOURS?|DAYS?|NANOSECONDS)(?:_\w+)?")
"""Names of constants that are units."""
_SQL: Final = re.compile(r"\bWHERE\b|\bIS (?:NOT )?NULL\b|[=<>] \?")
_CONDITION: Final = re.compile(
    r" AND (?:[^()]|\([^()]*\))*?(?= AND | ORDER BY| GROUP BY| LIMIT| RETURNING|\)|$)"
)
"""Each condition of a SQL statement but the first."""
_DEADLINES: Final = ("move_on_after", "move_on_at", "fail_after", "fail_at")
_LATE_SECONDS: Final = 1e9
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SYMMETRIC: Final = ("min", "max", "compare_digest")
_PARTS_NOT_RUN: Final = (
    *("annotation", "returns", "decorator_list", "defaults", "kw_defaults", "bases", "pattern"),
)
"""Fields of syntax nodes that were evaluated at import, or serve type checkers only."""


Key = tuple[str, str, str, str]
"""Module, function, kind and text of a mutant."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module."""

    module: str
    function: str
    """Qualified name of the function; empty for a constant of the module."""
    kind: str
    text: str
    """Old text and new text; with a number from the second occurrence on."""
    statement: int
    """Number of the statement in the module, as the executed statements are numbered."""
    node: int
    choice: int

    @property
    def key(self) -> Key:
        """Identity of a mutant that is stable while its source text is."""
        return (self.module, self.function, self.kind, self.text)

    def __str__(self) -> str:
        return f"{self.module} {self.function or '(constant)'}: {self.kind}: {self.text}"


@cache
def source_of(module: str) -> tuple[str, str]:
    """Return the source text of a module, and its file."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8"), spec.origin


def parse(module: str) -> ast.Module:
    """Return a new syntax tree of a module; `ast.walk` visits it in the same order every time."""
    return ast.parse(source_of(module)[0])


def compile_tree(module: str, tree: ast.Module) -> CodeType:
    """Return the code of a changed tree."""
    return compile(ast.fix_missing_locations(tree), source_of(module)[1], "exec")


def mutants_of(module: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of the source."""
    tree = parse(module)
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    statements = {id(node): number for number, node in enumerate(statements_of(tree))}
    tests = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp | ast.While)}
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for node, function, around in _walk_running_nodes(tree, "", None):
        for choice, (kind, changed) in enumerate(_changes(node)):
            statement = _find_first_moved(node, changed) if kind == "order" else around
            if statement is None or id(statement) not in statements:
                continue
            if id(node) in tests and (kind == "comparison" or isinstance(node, ast.UnaryOp)):
                continue  # conditions have the mutants "always" and "never" already
            text = _describe_change(node, changed)
            seen[function, kind, text] += 1
            if seen[function, kind, text] > 1:
                text += f" #{seen[function, kind, text]}"
            places = (statements[id(statement)], numbers[id(node)], choice)
            mutants.append(Mutant(module, function, kind, text, *places))
    return mutants


def find_changed_statements(mutant: Mutant) -> Iterator[int]:
    """Yield the number of the changed statement; of a constant, of each statement that uses it, or of all."""
    if mutant.function:
        yield mutant.statement
        return
    statements = list(statements_of(parse(mutant.module)))
    target = target_of(statements[mutant.statement])
    yield from (
        number
        for number, statement in enumerate(statements)
        if any(isinstance(node, ast.Name) and node.id == target for node in ast.walk(statement))
    )


def target_of(statement: ast.stmt) -> str:
    """Return the name that a statement assigns to."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            raise ValueError(f"expected an assignment to one name, got {ast.unparse(statement)}")


def mutate_tree(mutant: Mutant) -> ast.Module:
    """Return the module's tree with this change."""
    tree = parse(mutant.module)
    node = list(ast.walk(tree))[mutant.node]
    changed = list(_changes(node))[mutant.choice][1]
    _keep_names(tree, node)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, changed)
            elif isinstance(value, list):
                setattr(parent, name, [changed if each is node else each for each in value])
    return tree


def _keep_names(tree: ast.Module, node: ast.AST) -> None:
    """Keep the names that a change removes, `super` included: the new code needs all cells of the old.

    Not those of a comprehension's own variables, which outside of it are others.
    """
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    around = [each for each in functions if node in ast.walk(each)]
    inner = [
        each.target for one in around[-1:] for each in ast.walk(one) if isinstance(each, ast.comprehension)
    ]
    own = {each.id for target in inner for each in ast.walk(target) if isinstance(each, ast.Name)}
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - own
    if names and (len(around) > 1 or "super" in names):
        unused = [ast.Expr(ast.Name(name, ast.Load())) for name in sorted(names)]
        around[-1].body.append(ast.If(ast.Constant(False), list(unused), []))


def statements_of(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield all statements in a fixed order, without docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not _is_docstring(node):
            yield node


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _walk_running_nodes(
    node: ast.AST, function: str, statement: ast.stmt | None
) -> Iterator[tuple[ast.AST, str, ast.stmt | None]]:
    """Yield every node that runs, with its function and statement."""
    if isinstance(node, _DEFINITIONS):
        function = f"{function}.{node.name}".lstrip(".")
    elif isinstance(node, ast.stmt):
        statement = node
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom) or _is_docstring(node):
            return
        is_constant = isinstance(node, ast.Assign | ast.AnnAssign)
        if not function and (not is_constant or _is_for_type_checkers(node)):
            return
    if isinstance(node, ast.JoinedStr):
        yield from ((each, function, statement) for each in node.values if _is_sql(each))
        return
    yield node, function, statement
    of_class = isinstance(node, ast.ClassDef)  # the statements of a class run at import
    for name, value in ast.iter_fields(node):
        if name in _PARTS_NOT_RUN or (name == "keywords" and _is_strict_zip(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (of_class and not isinstance(child, _DEFINITIONS)):
                yield from _walk_running_nodes(child, function, statement)


def _is_strict_zip(node: ast.AST) -> bool:
    """Whether a call is `zip(…, strict=True)`, which like `assert` only checks."""
    match node:
        case ast.Call(func=ast.Name(id="zip"), keywords=[ast.keyword(value=ast.Constant(value=True))]):
            return True
        case _:
            return False


def _is_for_type_checkers(statement: ast.stmt) -> bool:
    """Whether a module's statement names a type; constants are annotated as `Final` and are none."""
    match statement:
        case ast.Assign(value=ast.Subscript() | ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
            return True
        case _:
            return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each kind of change that a node allows, with the replacing node."""
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            for value in (True, False):
                if not (value and isinstance(node, ast.While)):
                    yield "condition", _copy(node, test=ast.Constant(value))
        case ast.comprehension(ifs=[_, *_] as tests):
            for number in range(len(tests)):
                yield "condition", _copy(node, ifs=tests[:number] + tests[number + 1 :])
        case ast.match_case(guard=ast.expr()):
            yield "condition", _copy(node, guard=None)
        case ast.Compare(ops=ops):
            for table, kind in ((_BOUNDARIES, "boundary"), (_NEGATIONS, "comparison")):
                for number, op in enumerate(ops):
                    if type(op) in table:
                        changed = [*ops[:number], table[type(op)](), *ops[number + 1 :]]
                        yield kind, _copy(node, ops=changed)
        case ast.BoolOp(op=op, values=values):
            yield "operator", _copy(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for number in range(len(values)):
                left = values[:number] + values[number + 1 :]
                yield "guard", left[0] if len(left) == 1 else _copy(node, values=left)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "operator", operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield "operator", _copy(node, op=_OPERATORS[type(op)]())
            if isinstance(op, ast.Mult | ast.FloorDiv) and _is_unit(right):
                yield "unit", left
            elif isinstance(op, ast.Mult) and _is_unit(left):
                yield "unit", right
        case ast.Constant(value=bool() as flag):
            yield "constant", ast.Constant(not flag)
        case ast.Constant(value=int() as number):
            yield "constant", ast.Constant(number + 1)
            yield "constant", ast.Constant(number - 1)
        case ast.Constant(value=str() as text) if _SQL.search(text):
            for found in _CONDITION.finditer(text):
                yield "filter", ast.Constant(_without(text, found))
        case ast.Dict(keys=keys, values=values):
            for number, (one, two) in enumerate(pairwise(values)):
                if keys[number] and keys[number + 1] and ast.unparse(one) != ast.unparse(two):
                    yield "swap", _copy(node, values=[*values[:number], two, one, *values[number + 2 :]])
        case ast.Call(args=arguments, keywords=keywords):
            if ast.unparse(node.func).rpartition(".")[2] in _DEADLINES and arguments:
                yield "deadline", _copy(node, args=[ast.Constant(_LATE_SECONDS), *arguments[1:]])
            for number in range(0 if _is_strict_zip(node) else len(keywords)):
                # Without `strict=False`, the call does the same.
                if keywords[number].arg is not None and ast.unparse(keywords[number]) != "strict=False":
                    yield "field", _copy(node, keywords=keywords[:number] + keywords[number + 1 :])
            is_symmetric = ast.unparse(node.func).rpartition(".")[2] in _SYMMETRIC
            for number, (one, two) in enumerate(() if is_symmetric else pairwise(arguments)):
                is_starred = isinstance(one, ast.Starred) or isinstance(two, ast.Starred)
                if not is_starred and ast.unparse(one) != ast.unparse(two):
                    swapped = [*arguments[:number], two, one, *arguments[number + 2 :]]
                    yield "arguments", _copy(node, args=swapped)
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            for number, element in enumerate(elements):
                if isinstance(element, ast.Call | ast.Starred | ast.Name):
                    yield "write", _copy(node, elts=elements[:number] + elements[number + 1 :])
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "statement", ast.copy_location(ast.Pass(), node)
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.With(body=body):
            yield from _swap_calls(node, body)
        case ast.AsyncWith(body=body) | ast.Try(body=body) | ast.For(body=body):
            yield from _swap_calls(node, body)
        case _:
            pass


def _without(text: str, found: re.Match[str]) -> str:
    return text[: found.start()] + text[found.end() :]


def _is_sql(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_SQL.search(node.value))


def _is_unit(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and _UNIT.fullmatch(node.id) is not None


def _swap_calls(node: ast.AST, body: list[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """Yield a block with two neighbouring calls, made for their effects, in the other order."""
    for number, (one, two) in enumerate(pairwise(body)):
        if _is_called(one) and _is_called(two):
            yield "order", _copy(node, body=[*body[:number], two, one, *body[number + 2 :]])


def _is_called(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value.value if isinstance(value, ast.Await) else value, ast.Call)


def _find_first_moved(node: Any, changed: Any) -> ast.stmt:
    """Return the first statement of a block that the changed block has in another place."""
    moved: ast.stmt = next(old for old, new in zip(node.body, changed.body, strict=True) if old is not new)
    return moved


def _copy(node: ast.AST, **changes: object) -> ast.AST:
    fields = {**dict(ast.iter_fields(node)), **changes}
    return ast.copy_location(type(node)(**fields), node) if hasattr(node, "lineno") else type(node)(**fields)


def _describe_change(node: ast.AST, changed: ast.AST) -> str:
    """Return the old text and the new text of a change; of an omission, the surrounding text."""
    for name in ("keywords", "elts", "values"):
        before, after = getattr(node, name, []), getattr(changed, name, None)
        if after is not None and type(changed) is type(node) and len(after) < len(before):
            [missing] = [each for each in before if each not in after]
            whole = f"{ast.unparse(node.func)}(…)" if isinstance(node, ast.Call) else _short(node)
            return f"{whole} without {ast.unparse(missing)}"
    if isinstance(node, ast.Dict) and isinstance(changed, ast.Dict):
        moved = zip(node.keys, node.values, changed.values, strict=True)
        keys = [ast.unparse(key) for key, old, new in moved if key is not None and old is not new]
        return f"the values of {' and '.join(keys)} swapped"
    if isinstance(node, ast.expr) and isinstance(changed, ast.Constant) and _is_sql(node):
        before, after = ast.literal_eval(node), str(changed.value)
        lost = (found for found in _CONDITION.finditer(before) if _without(before, found) == after)
        return f"a statement without {next(lost)[0].strip()!r}"
    if _is_block(node) and _is_block(changed):
        first = _find_first_moved(node, changed)
        return f"{_short(first)} after the next one"
    return f"{_short(node)} → {_short(changed)}"


def _is_block(node: ast.AST) -> bool:
    return isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.With | ast.AsyncWith | ast.Try | ast.For
    )


def _short(node: ast.AST) -> str:
    """Return the source of a node; of a compound statement, only its head."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return f"if {ast.unparse(test)}"
        case ast.match_case(pattern=pattern, guard=guard):
            return f"case {ast.unparse(pattern)}" + (f" if {ast.unparse(guard)}" if guard else "")
        case _:
            return ast.unparse(node).replace("\n", " ")
