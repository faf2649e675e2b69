"""User-Agents on pages: the name that people know, and behind it what was sent, for whoever asks."""

from markupsafe import Markup, escape

from ostiary_core.history.agents import agent_name
from ostiary_core.texts import Language

_LONGEST_SHOWN = 60


def agent_markup(user_agent: str | None, language: Language) -> Markup:
    """A name that opens to the whole text, by key and finger too; a short unknown one as it is.

    >>> from ostiary_core.texts import ENGLISH
    >>> agent_markup("shop/<3>", ENGLISH)
    Markup('shop/&lt;3&gt;')
    >>> agent_markup("curl/8.5.0", ENGLISH)
    Markup('<details class="agent"><summary>curl 8.5</summary>curl/8.5.0</details>')
    """
    if not user_agent:
        return Markup("—")
    name = agent_name(user_agent, language)
    if name is None and len(user_agent) <= _LONGEST_SHOWN:
        return escape(user_agent)
    short = name or f"{user_agent[: _LONGEST_SHOWN - 1]}…"
    return Markup('<details class="agent"><summary>{}</summary>{}</details>').format(short, user_agent)
