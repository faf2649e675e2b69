"""Names of browsers and programs from a User-Agent: `Chrome on Linux`, `Safari on iPhone`, `curl 8.5`.

A User-Agent is what its sender claims, so no rule decides by it. Browsers name one another for the sake of
old sites, so the first matching row of a table counts.
"""

import re
from typing import Final

from ostiary_core.texts.language import Language

_LONGEST_READ: Final = 512

_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("YaBrowser/", "Yandex"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("MicroMessenger/", "WeChat"),
    ("DingTalk/", "DingTalk"),
    ("Lark/", "Lark"),
    ("HuaweiBrowser/", "Huawei Browser"),
    ("MiuiBrowser/", "Mi Browser"),
    ("QQBrowser/", "QQ Browser"),
    ("UCBrowser/", "UC Browser"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("OpenHarmony", "HarmonyOS"),
    ("HarmonyOS", "HarmonyOS"),
    ("Android", "Android"),
    ("Windows NT", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_PROGRAM: Final = re.compile(
    "(curl|Wget|python-requests|python-httpx|aiohttp|okhttp|axios|node-fetch|Go-http-client|Apache-HttpClient|"
    r"Java|Dart|PostmanRuntime|insomnia|GuzzleHttp|Ruby|PHP)/([0-9]+(?:\.[0-9]+)?)",
    re.ASCII,
)


def agent_name(user_agent: str, language: Language) -> str | None:
    """Return the name of a browser or program, None for an unknown one.

    >>> from ostiary_web.texts import LANGUAGES
    >>> agent_name("Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0.0.0 Safari/537.36", LANGUAGES.default)
    'Chrome on Linux'
    >>> agent_name("curl/8.5.0", LANGUAGES.default), agent_name("shop/3.1", LANGUAGES.default)
    ('curl 8.5', None)
    """
    program = _PROGRAM.match(user_agent)
    return browser_name(user_agent, language) if program is None else f"{program[1]} {program[2]}"


def browser_name(user_agent: str, language: Language) -> str | None:
    """Return a browser's name, None for any other program."""
    text = user_agent[:_LONGEST_READ]
    browser = next((name for mark, name in _BROWSERS if mark in text), None)
    system = next((name for mark, name in _SYSTEMS if mark in text), None)
    if not text.startswith("Mozilla/") or browser is None or system is None:
        return None
    return language.text("agent.on_system", browser=browser, system=system)
