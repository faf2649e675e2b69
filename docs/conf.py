"""How the book is built: Sphinx reads the Markdown of this folder; the site needs no other host.

make docs
"""

from importlib.metadata import version as installed
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "Ostiary"
author = "The Ostiary authors"
version = release = installed("ostiary")
language = "en"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["decisions/0000-template.md", "examples/**"]

myst_heading_anchors = 3
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "Ostiary"
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, object] = {"top_of_page_buttons": []}

nitpicky = True
suppress_warnings = ["toc.not_included"]


def _with_the_rest(app: Sphinx, name: str, source: list[str]) -> None:
    """A page that nobody has put into the contents yet stands where index.md says `the-rest`."""
    if name != "index":
        return
    listed = set(source[0].split())
    pages = sorted(page.stem for page in Path(app.srcdir).glob("*.md"))
    source[0] = source[0].replace(
        "the-rest", "\n".join(page for page in pages if page != "index" and page not in listed)
    )


def setup(app: Sphinx) -> None:
    # Diagrams are drawn where Markdown is shown with Mermaid; here the tables under them say the same.
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", _with_the_rest)
