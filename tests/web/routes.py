"""Every route there is, found by walking the application."""

import re
from functools import cache
from typing import Final

from ostiary_web.app.factory import create_app
from ostiary_web.server.settings import Settings

VARIABLE: Final = re.compile(r"<[^>]+>")


@cache
def rules(**environment: str) -> tuple[tuple[str, str], ...]:
    """Every method and path there is, the variable parts of a path in angle brackets."""
    return tuple(
        (method, str(rule.rule))
        for rule in create_app(Settings.from_environment(environment)).url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    )


def routes(prefix: str = "/") -> list[tuple[str, str]]:
    """Every method and path there is, with a value for each variable part."""
    return [(method, VARIABLE.sub("1", path)) for method, path in rules() if path.startswith(prefix)]
