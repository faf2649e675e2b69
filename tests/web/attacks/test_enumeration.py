"""A caller without permission learns from no answer, and from no time it takes, which records exist."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from ostiary_core.events import Event
from tests.support.callers import Api, Registered
from tests.support.connections import DOORS
from tests.support.people import PHONE, code_for, with_phone
from tests.support.served import Served

DRAWN = re.compile(r"[0-9a-f]{32}|[A-Za-z0-9_-]{43}")


def normalize(response: httpx.Response) -> object:
    """Return an answer without the random texts that each has."""
    fields = [
        (name, DRAWN.sub("drawn", value))
        for name, value in response.headers.multi_items()
        if name not in ("date", "connection")
    ]
    return response.status_code, fields, DRAWN.sub("drawn", response.text)


@contextmanager
def watch_costs(served: Served) -> Iterator[list[str]]:
    """Record the slow work of an answer, which a caller could measure: hashes, and turns of the store."""
    done: list[str] = []
    passwords: Any = served.services.passwords
    turns: Any = served.service.turns
    hasher, decide = passwords._hasher, turns.decide

    class Counting:
        def __getattr__(self, name: str) -> Any:
            if name != "check_needs_rehash":
                done.append(name)
            return getattr(hasher, name)

    async def counted(event: Event, *given: Any, **named: Any) -> Any:
        done.append(type(event).__name__)
        return await decide(event, *given, **named)

    passwords._hasher, turns.decide = Counting(), counted
    try:
        yield done
    finally:
        passwords._hasher, turns.decide = hasher, decide


@pytest.mark.parametrize("way", ["page", "interface"])
async def test_a_failed_sign_in_is_the_same_for_a_name_that_is_not_there(served: Served, way: str) -> None:
    admin = await served.administrator()
    disabled = await served.user("dora")
    await served.user("anna")
    await admin.call("PUT", f"/api/iam/users/{disabled}/enabled", {"enabled": False})
    await served.api().post("/api/auth/login", json={"username": "first", "password": "x"})
    found: list[object] = []
    for number, username in enumerate(("anna", "dora", "nobody", "a name nobody could have: <>")):
        source = f"198.51.100.{number}"
        if way == "page":
            browser = served.browser(source)
            page = await browser.get("/login")
            with watch_costs(served) as work:
                response = await browser.log_in(page, username, "wrong")
            page_text = re.sub(r'value="[^"]*"', "typed", response.text)
            found.append((response.status_code, DRAWN.sub("drawn", page_text), work))
        else:
            with watch_costs(served) as work:
                body = {"username": username, "password": "wrong"}
                response = await served.api(source).post("/api/auth/login", json=body)
            found.append((normalize(response), work))
    assert all(each == found[0] for each in found), found
    assert "verify" in str(found[0])


@pytest.mark.parametrize("way", ["page", "interface"])
async def test_a_recovery_is_the_same_whether_the_number_is_known(served: Served, way: str) -> None:
    await with_phone(served)
    code = await code_for(served, PHONE, "reset-password")
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    found = []
    for number, phone in enumerate((PHONE, "+8613899999999")):
        source = f"198.51.100.{number}"
        with watch_costs(served) as work:
            if way == "page":
                browser = served.browser(source)
                sent = await browser.submit(await browser.get("/recover"), {"phone": phone}, to="/recover")
                asked = await browser.follow(sent)
                values = {"code": wrong, "new_password": "a new password"}
                tried = await browser.submit(asked, values, to="/recover/password")
            else:
                api = served.api(source)
                body = {"phone": phone, "purpose": "reset-password"}
                asked = await api.post("/api/auth/sms-code", json=body)
                body = {"phone": phone, "code": wrong, "newPassword": "a new password"}
                tried = await api.post("/api/auth/reset-password", json=body)
        pages = [DRAWN.sub("drawn", each.text).replace(phone, "number") for each in (asked, tried)]
        found.append((asked.status_code, tried.status_code, pages, work))
    assert found[0] == found[1]
    assert found[0][-1][-1:] == ["TextCodePresented"], "a wrong code costs no hash"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("operation", ["token", "introspect", "revoke"])
@pytest.mark.parametrize("method", ["basic", "fields"])
async def test_a_client_that_fails_to_prove_itself_does_not_learn_whether_it_is_there(
    served: Served, api: Api, operation: str, method: str
) -> None:
    there = await served.client("there")
    for client_id in ("disabled", "deleted"):
        await served.client(client_id)
    await api.call("PUT", "/api/oauth/clients/disabled/enabled", {"enabled": False})
    await api.call("DELETE", "/api/oauth/clients/deleted")
    found = []
    for client_id in ("there", "disabled", "deleted", "never", "console", "mobile", "nobody/could-be"):
        wrong = Registered(client_id, "x" * len(there.secret))
        options: dict[str, Any] = {"auth": wrong.basic} if method == "basic" else {}
        form = {"grant_type": "client_credentials", "token": "x"}
        form |= wrong.fields if method == "fields" else {}
        with watch_costs(served) as work:
            response = await served.api().post(f"/api/oauth2/{operation}", data=form, **options)
        found.append((normalize(response), work))
    assert all(each == found[0] for each in found), found
    assert '"invalid_client"' in str(found[0])
