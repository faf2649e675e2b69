"""Names and first docstring lines are plain: what a machine can hold of them.

`python -m tests.test_names` lists every offender by room.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tests.conftest import RELEASE

ROOT: Final = Path(__file__).resolve().parents[1]
PRODUCT: Final = ("core/ostiary_core", "net/ostiary_net", "web/ostiary_web")
CAMPAIGNS: Final = ("fuzz", "tests/fuzz")
PROOF: Final = ("fuzz", "tests")

VERBS: Final = """\
accept acquire act add admit allow answer append apply ask assert begin block break bring build call
cancel capture change check choose close collect commit compare complete compute connect continue
convert copy count create cut decide decode delay delete deliver derive describe digest disable do draw
drop enable encode end enter erase escape exchange execute expect explain export fail fetch fill find
finish flush fold follow forbid forget format free get give go grant group guess hash have hold ignore
import insert introspect invite issue judge keep kill leave lend let limit list load lock log look lose
make mark measure merge move name narrow note offer open parse pass pick plant post prepare present
press print protect prove pull purge put query queue quote raise read rebuild receive record recover
redeem redirect refresh refuse register release remember remove rename repair repeat replace replay
report request require reset resolve restart resume retry return revoke roll rotate run say schedule
search see send serve set show shrink sign skip sleep sort split start stop store strip summarise switch
take tell tick time try turn upload use verify void wait warn watch withdraw work wrap write yield
"""
"""Words with which functions' docstrings begin; add yours if it is a verb in its plain form."""

RIDDLES: Final = """\
of for beside besides by it its itself those these this that they them same likewise whoever whatever
whichever somebody nobody anybody
"""
"""Words with which no first line begins: it needs its neighbours then, or names no actor."""

PARTICIPLES: Final = """\
born bought brought built caught done drawn found fed felt fought gone got gotten had heard held kept known
laid led left lent lost made meant met paid said seen sent shown sold sought spent spun stood struck stuck
sung sunk sworn swum taught thought told torn understood won worn wound written
"""
PREPOSITIONS: Final = "after again as at away before by for from in of on out through to with"
PLAIN_ENDINGS: Final = """\
need feed seed embed exceed proceed succeed speed heed shed bleed breed wed open listen happen token
strengthen lengthen shorten widen broaden flatten harden loosen tighten straighten ten when then even
between screen golden hidden children men women xopen reopen given
"""
"""Words that end as participles do and are none, or name no deed."""

UNCLEAR: Final = re.compile(
    r"\b(?:whoever|whomever|somebody|anybody|everybody|nobody|likewise|told|tells?)\b"
    r"|(?-i:\bWhat\b)"
    r"|(?<!says )\bwhere\b",
    re.IGNORECASE,
)
"""Words that name no actor, need a neighbour, or mean no place; quoted code is left out."""


Function = ast.FunctionDef | ast.AsyncFunctionDef


class Offender(NamedTuple):
    """A line against one of the rules."""

    rule: str
    path: str
    line: int
    text: str


def is_participle(name: str) -> bool:
    """Whether a function's name is a bare participle ("_shown"), or one with a preposition ("told_of")."""
    first, *rest = name.lower().strip("_").split("_")
    if name.startswith("__") or (rest and rest[0] not in PREPOSITIONS.split()):
        return False
    return first in PARTICIPLES.split() or (
        first.endswith(("ed", "en")) and first not in PLAIN_ENDINGS.split()
    )


def is_value(node: Function) -> bool:
    """Whether a function is read as a value, a property or a fixture, so that its name is a noun."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any("property" in each or "fixture" in each for each in decorators)


def find_functions(tree: ast.AST, *, with_closures: bool) -> Iterator[Function]:
    """Yield functions and methods; functions inside of others only `with_closures`: a test has stand-ins."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            if not with_closures:
                continue
        yield from find_functions(node, with_closures=with_closures)


def find_first_fault(line: str, *, begins_with_verb: bool) -> str | None:
    """Name the rule that a docstring's first line breaks."""
    first = line.split()[0].strip(".,:;`'\"").lower() if line.split() else ""
    if first in RIDDLES.split() or line.lower().startswith(("the same", "how it", "what it")):
        return "first line needs its neighbours"
    if begins_with_verb and first != "whether" and first not in VERBS.split():
        return "docstring begins with no verb"
    return None


def find_docstrings(tree: ast.AST) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield each docstring with its node, and whether it must begin with a verb."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_value(node)
                yield node, text, is_function
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if not isinstance(body, list):
                continue
            for before, after in pairwise(body):
                if (
                    isinstance(before, ast.Assign | ast.AnnAssign)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                    and isinstance(after.value.value, str)
                ):
                    yield after, after.value.value, False


def find_prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield every docstring and comment of a module with its line."""
    for node, text, _ in find_docstrings(ast.parse(source)):
        yield getattr(node, "lineno", 1), text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def find_unclear_words(text: str) -> list[str]:
    """Return the words of a docstring or comment that plain English does without."""
    return UNCLEAR.findall(re.sub(r"`[^`]*`", "", text))


def is_module(name: str) -> bool:
    """Whether a dotted name is a module of this tree."""
    parts = name.split(".")
    folder = {"ostiary_core": "core", "ostiary_net": "net", "ostiary_web": "web"}.get(parts[0], ".")
    path = ROOT.joinpath(folder, *parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def find_aliases(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each import that gives a module another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.asname != alias.name.rpartition(".")[2]:
                    yield node.lineno, f"import {alias.name} as {alias.asname}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if alias.asname and alias.asname != alias.name and is_module(f"{node.module}.{alias.name}"):
                    yield node.lineno, f"from {node.module} import {alias.name} as {alias.asname}"


def list_offenders(rooms: tuple[str, ...]) -> list[Offender]:
    """Return each name and first line against the rules, in order of path and line."""
    offenders: list[Offender] = []
    classes: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for path in sorted(each for room in rooms for each in (ROOT / room).rglob("*.py")):
        place = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node, text, begins_with_verb in find_docstrings(tree):
            first = text.strip().splitlines()[0]
            fault = find_first_fault(first, begins_with_verb=begins_with_verb)
            if fault:
                offenders.append(Offender(fault, place, getattr(node, "lineno", 1), first))
        offenders += [
            Offender("function is a participle", place, node.lineno, node.name)
            for node in find_functions(tree, with_closures=rooms == PRODUCT)
            if is_participle(node.name) and not is_value(node)
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name.strip("_")].append((place, node.lineno, node.name))
        offenders += [Offender("module has an alias", place, line, text) for line, text in find_aliases(tree)]
    if rooms == PRODUCT:
        for places in classes.values():
            if len(places) > 1:
                offenders += [Offender("class name is used twice", *each) for each in places]
    return sorted(offenders, key=lambda each: (each.path, each.line))


def test_names_and_first_lines_of_the_product_are_plain() -> None:
    assert [" ".join(map(str, each)) for each in list_offenders(PRODUCT)] == []


def test_names_and_first_lines_of_campaigns_are_plain() -> None:
    assert [" ".join(map(str, each)) for each in list_offenders(CAMPAIGNS)] == []


def test_docstrings_and_comments_of_tests_and_campaigns_are_plain() -> None:
    paths = sorted(path for room in PROOF for path in (ROOT / room).rglob("*.py"))
    unclear = [
        f"{path.relative_to(ROOT)}:{line} {word!r} in: {' '.join(text.split())}"
        for path in paths
        for line, text in find_prose(path.read_text(encoding="utf-8"))
        for word in find_unclear_words(text)
    ]
    assert unclear == []


def test_functions_of_tests_and_campaigns_are_no_participles() -> None:
    paths = [path for room in PROOF for path in (ROOT / room).rglob("*.py")]
    functions = (
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in paths
        for node in find_functions(ast.parse(path.read_text(encoding="utf-8")), with_closures=False)
        if is_participle(node.name) and not is_value(node)
    )
    assert list(functions) == []


def test_the_list_of_slow_tests_has_names_of_tests() -> None:
    folder = ROOT / "tests"
    sources = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("test_*.py")}
    for beginning in RELEASE:
        file, _, name = beginning.partition("::")
        named = f"def {name.partition('[')[0]}"
        assert any(path.startswith(file) and named in source for path, source in sources.items()), beginning


def test_offenders_would_be_seen() -> None:
    assert find_first_fault("Those that end.", begins_with_verb=False)
    assert find_first_fault("The same for sheets.", begins_with_verb=True)
    assert find_first_fault("The answer.", begins_with_verb=True)
    assert find_first_fault("Return the answer.", begins_with_verb=True) is None
    assert find_first_fault("Whether a client may.", begins_with_verb=True) is None
    assert find_unclear_words("None where whoever asks is told nothing.") == ["where", "whoever", "told"]
    assert find_unclear_words("The text says where the `somebody` of the log is.") == []
    assert is_participle("_told_of")
    assert is_participle("changed")
    assert not is_participle("open_page")
    assert list(find_aliases(ast.parse("from ostiary_core.oauth import session as s\nimport json as j")))


if __name__ == "__main__":
    for rooms in (PRODUCT, PROOF):
        for offender in list_offenders(rooms):
            print(f"{offender.path}:{offender.line}: {offender.rule}: {offender.text}")
