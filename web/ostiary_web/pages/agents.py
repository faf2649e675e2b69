"""User-Agents on pages: the browser's name, which opens to the whole text."""

from markupsafe import Markup, escape

from ostiary_core.texts import Language
from ostiary_web.application.browsers import agent_name

_MAX_LENGTH = 60


def agent_markup(user_agent: str | None, language: Language) -> Markup:
    """Return a browser's name that opens to the whole User-Agent; a short unknown one as it is.

    >>> from ostiary_web.texts import LANGUAGES
    >>> agent_markup("shop/<3>", LANGUAGES.default)
    Markup('shop/&lt;3&gt;')
    >>> agent_markup("curl/8.5.0", LANGUAGES.default)
    Markup('<details class="agent"><summary>curl 8.5</summary>curl/8.5.0</details>')
    """
    if not user_agent:
        return Markup("—")
    name = agent_name(user_agent, language)
    if name is None and len(user_agent) <= _MAX_LENGTH:
        return escape(user_agent)
    short = name or f"{user_agent[: _MAX_LENGTH - 1]}…"
    return Markup('<details class="agent"><summary>{}</summary>{}</details>').format(short, user_agent)
