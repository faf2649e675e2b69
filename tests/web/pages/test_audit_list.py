"""The audit trail as a page: what an administrator reads there."""

import re
from html import unescape

import pytest

from ostiary_core.permissions import Permission
from tests.web.holders import holder_of
from tests.web.served import Registered, Served


async def refresh(served: Served, client: Registered, token: str, agent: str = "app/1") -> str:
    """The next refresh token; empty where there is none."""
    api = served.api(**{"User-Agent": agent})
    form = {"grant_type": "refresh_token", "refresh_token": token}
    return str((await api.service("token", client, **form)).json().get("refresh_token", ""))


@pytest.mark.parametrize("language", ["en", "zh-CN"])
async def test_each_replay_that_ended_a_session_can_be_told_from_the_others(
    served: Served, language: str
) -> None:
    app = await served.client()
    await served.user("anna")
    late, other, older = [
        (await served.tokens(app, "anna", "anna's password"))["refresh_token"] for _ in range(3)
    ]
    for token in (late, other):
        await refresh(served, app, token)
    await refresh(served, app, await refresh(served, app, older))
    assert not await refresh(served, app, other, "thief/1")
    assert not await refresh(served, app, older)
    served.clock.wait(3600)
    assert not await refresh(served, app, late)
    browser = served.browser(**{"Accept-Language": language})
    await browser.sign_in()

    page = unescape((await browser.get("/admin/audit?kind=session-ended")).text)

    for text in {
        "en": (
            "A used refresh token came again, too late for a safe retry.",
            "A used refresh token came again, with a different User-Agent.",
            "A refresh token came that had been used before the last refresh.",
        ),
        "zh-CN": (
            "已使用过的刷新令牌再次出现，超过了允许安全重试的时间",
            "已使用过的刷新令牌以不同的 User-Agent 再次出现",
            "上一次刷新之前就已使用过的刷新令牌再次出现",
        ),
    }[language]:
        assert page.count(text) == 1, text


@pytest.mark.parametrize("sees_machines", [False, True])
async def test_every_link_to_a_life_leads_there(served: Served, sees_machines: bool) -> None:
    """Sessions of no user are for super administrators, the others for whoever may read the trail."""
    app = await served.client()
    await served.user("anna")
    tokens = await served.tokens(app, "anna", "anna's password")
    await refresh(served, app, await refresh(served, app, tokens["refresh_token"]))
    machine = await served.api().service("token", app, grant_type="client_credentials")
    await served.api().service("revoke", app, token=machine.json()["access_token"])
    await holder_of(served, Permission.AUDIT_READ)
    browser = served.browser()
    if sees_machines:
        await browser.sign_in()
    else:
        await browser.sign_in("holder", "the holder's")

    page = await browser.get("/admin/audit?clientId=app")

    lives = re.findall(r'href="(/admin/audit/sessions/[0-9a-f]+)"', page.text)
    assert [(await browser.get(life)).status_code for life in lives] == [200] * len(lives)
    assert len(set(lives)) == (2 if sees_machines else 1)
