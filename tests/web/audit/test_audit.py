"""`/api/audit` shows no secret, and names what acted: an entry of an earlier release, an agent."""

from dataclasses import replace

from ostiary_web.application.browsers import agent_name
from ostiary_web.application.resources.audit import name_entries
from ostiary_web.texts.en_us import LANGUAGE as ENGLISH
from ostiary_web.texts.zh_cn import LANGUAGE as CHINESE
from tests.support.callers import Api
from tests.support.served import Served
from tests.support.stores import origin


async def test_an_entry_of_an_earlier_release_is_named_by_what_it_has(served: Served, api: Api) -> None:
    await served.client()
    old = replace(served.audit()[-1], actor_name=None, client_id=None, session_id="one")
    entries = [old, replace(old, session_id=None)]
    named = await served.service.query(lambda store, now: name_entries(store, entries), origin())
    assert [(each.actor_name, each.target) for each in named] == [("admin", "session:one"), ("admin", None)]


async def test_nothing_under_audit_shows_a_token_or_a_secret(served: Served, api: Api) -> None:
    app = await served.client()
    tokens = await served.tokens(app)
    rotated = (await served.api().refresh(app, tokens["refresh_token"])).json()

    listed = await api.call("GET", "/api/audit/events", params={"pageSize": "200"})
    [session_id] = {entry["sessionId"] for entry in listed.json()["data"]["items"] if entry["scope"]} - {None}
    told = listed.text + (await api.call("GET", f"/api/audit/sessions/{session_id}/explain")).text

    issued = [pair[name] for pair in (tokens, rotated) for name in ("access_token", "refresh_token")]
    for secret in (app.secret, api.token, *issued):
        assert secret
        assert secret not in told


# --- browsers and programs by name


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
    **dict.fromkeys(("Chrome/131 Linux", "Mozilla/5.0 (X11; FreeBSD amd64) Firefox/133.0")),
    f"{'Mozilla/5.0 (Linux)':505}Chrome/": "Chrome on Linux",
    f"{'Mozilla/5.0 (Linux)':506}Chrome/": None,
}


def test_an_agent_is_named_as_people_know_it_or_not_at_all() -> None:
    assert {user_agent: agent_name(user_agent, ENGLISH) for user_agent in NAMES} == NAMES
    assert agent_name(WINDOWS, CHINESE) == "Windows 上的 Chrome"
