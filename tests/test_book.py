"""The book: it builds without a warning, stands without any other host, and its programs run."""

import ast
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_HERE = ("integrators.md",)
"""Pages whose Python stands alone: every block is run, one after another, in one namespace."""

CITED = re.compile(r"`([A-Za-z_][\w.]*(?:/[\w.-]+)*)`")
"""A name or path in backticks, as prose cites it."""
FOLDERS = ("core", "net", "web", "fuzz", "tests", "docs")
ROOTS = ("core/ostiary_core", "net/ostiary_net", "web/ostiary_web", "fuzz", "docs", "tests/clients")
STATEMENT_STARTS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
NAMES_OF_OTHERS = {"Default_Ignorable_Code_Point", "_xHHHH_", "include_client_id", "application", "de_de.py"}
NAMES_OF_OTHERS |= {"SEED", "DATA_DIR", "migrations"}
"""Names that Unicode, Office or OAuth has, media types, and what stands for a name."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it; a broken link is a warning, and a warning ends it."""
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "dirhtml", DOCS, target],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return target


def test_the_site_asks_no_other_host(site: Path) -> None:
    foreign = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["'](?:https?:)?//[^"']+""")
    for page in site.rglob("*.html"):
        assert foreign.findall(page.read_text(encoding="utf-8")) == [], page


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_python_in_the_book_is_python(page: Path) -> None:
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        ast.parse(block)


def test_code_that_prose_cites_exists() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = {part for path in files for part in (*path.parts, path.stem)} | NAMES_OF_OTHERS
    cited = []
    for path in files:
        if path.suffix == ".py":
            prose, words = prose_and_words(path)
            names |= words
            cited += [(path, name) for name in CITED.findall(prose)]
        elif path.suffix in (".sql", ".html", ".js", ".toml", ".json"):
            names.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    # Records of decisions name what was there on their day.
    for page in (*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(DOCS / "reference").glob("*.md")):
        found = CITED.findall(page.read_text(encoding="utf-8"))
        cited += [(page, name) for name in found if name.endswith(".py") or name.partition("/")[0] in FOLDERS]
    assert len(cited) > 1_500
    stale = [f"{path.relative_to(ROOT)}: {name}" for path, name in cited if not is_known(name, names)]
    assert not stale, "\n".join(stale)


def prose_and_words(path: Path) -> tuple[str, set[str]]:
    """Return the comments and docstrings of a module, and the words of everything else in it."""
    prose, words, before = [], set(), tokenize.NEWLINE
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            is_docstring = token.type == tokenize.STRING and before in STATEMENT_STARTS
            if is_docstring or token.type == tokenize.COMMENT:
                prose.append(token.string)
            else:
                words.update(re.findall(r"\w+", token.string))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                before = token.type
    return "\n".join(prose), words


def is_known(name: str, names: set[str]) -> bool:
    """Whether a path exists, seen from the checkout or a package, or a dotted name is in the code."""
    first, _, rest = name.partition("/")
    if not rest:
        return re.search("[._]", name) is None or name in names or names.issuperset(name.split("."))
    places = (name, f"{first}/ostiary_{first}/{rest}", *(f"{root}/{name}" for root in ROOTS))
    return first in NAMES_OF_OTHERS or any(
        (ROOT / f"{place}{suffix}").exists() for place in places for suffix in ("", ".py")
    )


@pytest.mark.parametrize("name", RUN_HERE)
def test_python_in_the_guides_runs(name: str) -> None:
    blocks = FENCE.findall((DOCS / name).read_text(encoding="utf-8"))
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"docs/{name}", "exec"), namespace)
