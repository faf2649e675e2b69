"""Accounts with telephones or with chosen permissions, and all that one of them has open at a time."""

import json
from dataclasses import dataclass
from typing import Any

from ostiary_core.events import Operator, RoleRegistered
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import RoleKnown
from tests.support.callers import Api, Browser, Registered, exchange_of
from tests.support.served import Served

PHONE = "+8613800000001"
NEW_PHONE = "+8613800000002"
PASSWORD = "anna password"
HOLDERS_PASSWORD = "the holder's"


async def with_phone(
    served: Served, username: str = "anna", phone: str | None = PHONE, **fields: object
) -> str:
    """Make an account with a telephone, whose password is its name and " password"; return its id."""
    names = {"name": username.capitalize(), "phone": phone}
    return await served.user(username, f"{username} password", **{**names, **fields})


def new_number(code: str, password: object = PASSWORD, phone: str = NEW_PHONE) -> dict[str, Any]:
    """Return the body of a change to a new number."""
    return {"phone": phone, "code": code, "password": password}


async def sign_in(served: Served, username: str = "anna", password: str | None = None) -> Api:
    api = served.api()
    await api.sign_in(username, password or f"{username} password")
    return api


def outbox(served: Served) -> list[dict[str, Any]]:
    """Return every text message that was sent."""
    path = served.application.settings.sms_outbox
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


async def code_for(served: Served, phone: str, purpose: str, api: Api | None = None, **options: Any) -> str:
    """Ask for a code; return the one that the telephone shows."""
    sent = len(outbox(served))
    body = {"phone": phone, "purpose": purpose}
    assert await (api or served.api()).succeed("POST", "/api/auth/sms-code", body, **options) is None
    (message,) = outbox(served)[sent:]
    assert (message["phone"], message["purpose"]) == (phone, purpose)
    return str(message["code"])


@dataclass
class Open:
    """Sessions of one user: two login sessions, at a client one that was refreshed and one that was not, and
    a code that was not redeemed."""

    served: Served
    client: Registered
    here: Api
    elsewhere: Api
    logins: tuple[dict[str, Any], dict[str, Any]]
    rotated: dict[str, Any]
    fresh: dict[str, Any]
    code: str

    async def living(self) -> set[str]:
        """Return what is still good, tried in every way to use it."""
        api, found = self.served.api(), set()
        for name, pair in (("rotated", self.rotated), ("fresh", self.fresh)):
            for kind in ("access_token", "refresh_token"):
                if await api.is_active(self.client, pair[kind]):
                    found.add(f"{name} {kind}")
            profile = await api.call("GET", "/api/oauth2/userinfo", token=pair["access_token"])
            if profile.status_code == 200:
                found.add(f"{name} user-info")
        for name, who in (("here", self.here), ("elsewhere", self.elsewhere)):
            if (await who.call("GET", "/api/auth/me")).status_code == 200:
                found.add(f"login {name}")
        return found

    async def assert_dead(self) -> None:
        """Check that nothing is good, nothing can be refreshed or redeemed, and trying changes nothing."""
        assert await self.living() <= {"login here"}
        api, before = self.served.api(), self.served.records()
        for pair in (self.rotated, self.fresh):
            answer = await api.refresh(self.client, pair["refresh_token"])
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
            await api.fail(401, "A1001", "GET", "/api/oauth2/userinfo", token=pair["access_token"])
        answer = await api.service("token", self.client, **exchange_of(self.code))
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
        login = {"refreshToken": self.logins[1]["refreshToken"]}
        await api.fail(401, "A1001", "POST", "/api/auth/refresh", login)
        assert self.served.records() == before

    async def assert_all_alive(self) -> None:
        """Check that everything is good, and that the refresh tokens and the code can be used."""
        assert await self.living() == EVERYTHING
        api = self.served.api()
        for pair in (self.rotated, self.fresh):
            answer = await api.refresh(self.client, pair["refresh_token"])
            assert answer.status_code == 200, answer.text
        answer = await api.service("token", self.client, **exchange_of(self.code))
        assert answer.status_code == 200, answer.text
        for login in self.logins:
            await api.succeed("POST", "/api/auth/refresh", {"refreshToken": login["refreshToken"]})


EVERYTHING = {
    "login here",
    "login elsewhere",
    *(f"{name} {kind}" for name in ("rotated", "fresh") for kind in ("access_token", "refresh_token")),
    "rotated user-info",
    "fresh user-info",
}


async def open_all(served: Served, client: Registered, username: str = "anna") -> Open:
    """Open all of it, over the interface."""
    password = f"{username} password"
    here, elsewhere = served.api(), served.api()
    logins = await here.sign_in(username, password), await elsewhere.sign_in(username, password)
    pairs = []
    for _ in range(2):
        code = await served.code(elsewhere, client.client_id)
        answer = await here.service("token", client, **exchange_of(code))
        assert answer.status_code == 200, answer.text
        pairs.append(answer.json())
    rotated = await here.refresh(client, pairs[0]["refresh_token"])
    assert rotated.status_code == 200
    opened = Open(
        served=served,
        client=client,
        here=here,
        elsewhere=elsewhere,
        logins=logins,
        rotated=rotated.json(),
        fresh=pairs[1],
        code=await served.code(elsewhere, client.client_id),
    )
    assert await opened.living() == EVERYTHING
    return opened


async def holder_of(served: Served, *permissions: Permission, username: str = "holder") -> Api:
    """Sign a program in by an account with a role that allows this and no more."""
    role = RoleRegistered(
        caller=Operator(),
        fields={"code": f"role-of-{username}", "name": "A role", "permissions": list(permissions)},
    )
    assert isinstance(await served.decide(role), RoleKnown)
    holds = {"name": username.capitalize(), "roleIds": [f"role-of-{username}"]}
    await served.user(username, HOLDERS_PASSWORD, **holds)
    return await sign_in(served, username, HOLDERS_PASSWORD)


async def browser_of(served: Served, *permissions: Permission, username: str = "holder") -> Browser:
    """Sign a browser in by an account with a role that allows this and no more."""
    await holder_of(served, *permissions, username=username)
    return await served.sign_in_browser(username, HOLDERS_PASSWORD)
