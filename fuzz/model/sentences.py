"""Collect the sentences of the specification that the model's rules contain."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def list_sentences() -> tuple[str, ...]:
    """Return every sentence that a rule of the model writes out, in alphabetical order."""
    sentences: set[str] = set()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="refuse" | "Verdict"), args=[_, sentence, *_]):
                    sentences.update(_texts_in(sentence))
                case _:
                    pass
    return tuple(sorted(sentences))


def _texts_in(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _texts_in(body)
            yield from _texts_in(orelse)
        case _:
            return
