"""The book: it builds without a warning, stands without any other host, and its programs run."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_HERE = ("integrators.md",)
"""Pages whose Python stands alone: every block is run, one after another, in one namespace."""


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


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in DOCS.glob("*.md"):
        name = page.stem
        assert (site / "index.html" if name == "index" else site / name / "index.html").exists(), name


def test_the_site_asks_no_other_host(site: Path) -> None:
    foreign = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["'](?:https?:)?//[^"']+""")
    for page in site.rglob("*.html"):
        assert foreign.findall(page.read_text(encoding="utf-8")) == [], page


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_python_in_the_book_is_python(page: Path) -> None:
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        ast.parse(block)


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (DOCS / "threat-model.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", RUN_HERE)
def test_python_in_the_guides_runs(name: str) -> None:
    blocks = FENCE.findall((DOCS / name).read_text(encoding="utf-8"))
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"docs/{name}", "exec"), namespace)
