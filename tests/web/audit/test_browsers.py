"""Browsers and programs by name: as they write of themselves, and what only looks like one."""

from ostiary_web.api.browsers import agent_name
from ostiary_web.texts.en_us import LANGUAGE as ENGLISH
from ostiary_web.texts.zh_cn import LANGUAGE as CHINESE

KIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
WINDOWS = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {KIT} Chrome/131.0.0.0 Safari/537.36"
ANDROID = f"Mozilla/5.0 (Linux; Android 14; SM-S918B) {KIT}"
NAMES = {
    f"Mozilla/5.0 (X11; Linux x86_64) {KIT} HeadlessChrome/131.0.0.0 Safari/537.36": "Chrome on Linux",
    f"{IPHONE} Version/17.5 Mobile/15E148 Safari/604.1": "Safari on iPhone",
    f"{IPHONE} CriOS/131.0 Mobile/15E148 Safari/604.1": "Chrome on iPhone",
    f"{IPHONE} Mobile/15E148 MicroMessenger/8.0.49 NetType/WIFI": "WeChat on iPhone",
    WINDOWS: "Chrome on Windows",
    f"{WINDOWS} Edg/131.0.0.0": "Edge on Windows",
    f"{WINDOWS} OPR/115.0.0.0": "Opera on Windows",
    f"{ANDROID} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36": "Samsung Internet on Android",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:133.0) Gecko/2010 Firefox/133.0": "Firefox on macOS",
    "curl/8.5.0": "curl 8.5",
    "python-requests/2.32.3": "python-requests 2.32",
    "okhttp/4": "okhttp 4",
    **dict.fromkeys(("", "shop/3.1", "Mozilla/5.0", "Mozilla/5.0 (compatible; Googlebot/2.1)", "xcurl/8.5")),
    "Chrome/131 Linux": None,
    f"Mozilla/5.0 (X11; {'x' * 600} Linux) Chrome/131": None,
}


def test_an_agent_is_named_as_people_know_it_or_not_at_all() -> None:
    assert {user_agent: agent_name(user_agent, ENGLISH) for user_agent in NAMES} == NAMES
    assert agent_name(WINDOWS, CHINESE) == "Windows 上的 Chrome"
