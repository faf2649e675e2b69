"""A later release writes words that this one does not know into the store: no route fails, no word is lost.

docs/upgrading.md describes how two releases run side by side.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
import trio

from ostiary_core.model.permissions import Permission
from ostiary_net.observability.summaries import Milestone
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sqlite import SQLiteStore
from tests.support.callers import Registered, exchange_of
from tests.support.people import holder_of, sign_in, with_phone
from tests.support.processes import Machine
from tests.support.served import OpenStore, Served, fill_in, on_disk, rules, serving
from tests.support.stores import DURABLE, lent_schema

WORD = "of_the_next_release"

WORDS = {
    "sessions": {"kind": "user_id = '{anna}'", "ended_why": "ended_at IS NOT NULL"},
    "codes": {"voided_why": "session_id IS NULL"},
    "users": {"epoch_why": "epoch > 0", "locale": "username = 'anna'", "timezone": "username = 'anna'"},
    "clients": {"epoch_why": "epoch > 0"},
    "identifiers": {"kind": "value = 'carol'"},
    "text_codes": {"purpose": "1 = 1"},
    "audit": {"kind": "number % 2 = 0", "why": "number % 3 = 0"},
    "summaries": {"what": "what = 'ended'", "detail": "what = 'started' AND detail = 'login'"},
    "refusals": {"operation": "1 = 1", "why": "1 = 1"},
    "milestones": {"name": "name = 'swept'"},
    "leases": {"name": "name = 'sweeping'"},
}
"""Columns with one word by table, and the rows into which a later release wrote a word of its own."""

LISTS = {
    "clients": {"grant_types": "client_id = 'app'", "scopes": "client_id = 'app'"},
    "roles": {"permissions": "role_id = 'auditors'"},
    "users": {"role_ids": "username = 'anna'"},
    "sessions": {"scopes": "user_id = '{anna}'", "access_scopes": "user_id = '{anna}'"},
    "codes": {"scopes": "1 = 1"},
    "consents": {"scopes": "1 = 1"},
    "audit": {"scopes": "number % 2 = 1"},
}
"""Columns with a JSON list of words by table, and the rows whose list gets one more."""

CHANGES = json.dumps([["limits", {"most": 3}, [1, 2], "a fourth"], ["roleIds", None, [WORD]]])

Write = Callable[[str], list[Any]]
"""Runs a statement on the database as another process would."""


@dataclass
class Neighbour:
    """A server of this release, and a later one that writes to the same store."""

    served: Served
    write: Write
    client: Registered
    anna: str
    token: dict[str, Any]
    """The tokens that the client got for anna."""

    def set_word(self, table: str, column: str) -> None:
        """Write the unknown word into a column; in a column of lists, add it to each list."""
        is_list = column in LISTS.get(table, {})
        rows = (LISTS if is_list else WORDS)[table][column].format(anna=self.anna)
        # A list ends with a bracket; an empty one has no comma before its first word.
        value = (
            f"replace(substr({column}, 1, length({column}) - 1) || ',\"{WORD}\"]', '[,', '[')"
            if is_list
            else f"'{WORD}'"
        )
        for each in self.tables_of(table):
            self.write(f"UPDATE {each} SET {column} = {value} WHERE {rows}")

    def set_words(self) -> None:
        """Write the unknown word into every column that can hold it."""
        for listed in (LISTS, WORDS):
            for table, columns in listed.items():
                for column in columns:
                    self.set_word(table, column)
        for each in self.tables_of("audit"):
            self.write(f"UPDATE {each} SET changes = '{CHANGES}' WHERE number % 5 = 0")

    def tables_of(self, name: str) -> list[str]:
        """Return the tables behind a name: SQLite has two for the audit trail."""
        is_sqlite = isinstance(self.served.store, SQLiteStore)
        return ["audit_filed", "audit_unfiled"] if name == "audit" and is_sqlite else [name]

    def holds(self, table: str, column: str) -> bool:
        """Whether the word still stands in a column."""
        return bool(self.write(f"SELECT 1 FROM {table} WHERE {column} LIKE '%{WORD}%'"))


@pytest.fixture(params=DURABLE)
async def neighbour(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Neighbour]:
    with ExitStack() as stack:
        open_store: OpenStore = on_disk
        connect: Callable[[], Any] = lambda: apsw.Connection(str(tmp_path / "ostiary.db"))  # noqa: E731
        if request.param == "postgresql":
            address = stack.enter_context(lent_schema())
            open_store = lambda settings: PostgreSQLStore(address, keeps_time=False)  # noqa: E731
            connect = lambda: psycopg.connect(address, autocommit=True)  # noqa: E731
        async with serving(tmp_path, open_store=open_store, RATE_LIMIT_SCALE="1000") as served:
            connection = stack.enter_context(closing(connect()))

            def write(statement: str) -> list[Any]:
                done = connection.execute(statement)
                return list(done) if statement.startswith("SELECT") else []

            yield await furnish(served, write)


async def furnish(served: Served, write: Write) -> Neighbour:
    """Fill a server with records: sessions that run or ended, a code, consents, roles, refusals."""
    await holder_of(served, Permission.AUDIT_READ, username="auditor")
    admin = await served.administrator()
    role = {"code": "auditors", "name": "Auditors", "permissions": ["audit.read"]}
    await admin.succeed("POST", "/api/iam/roles", role, status=201)
    anna = await with_phone(served, "anna", roleIds=["auditors"])
    for name in ("bob", "carol"):
        await with_phone(served, name, None)
    client = await served.client()
    await served.client("other")
    api = await sign_in(served)
    for path in ("/api/oauth/clients/other/force-logout", f"/api/iam/users/{anna}/force-logout"):
        await admin.succeed("POST", path)
    ended = await served.tokens(client, "bob", "bob password")
    await api.service("revoke", client, token=ended["refresh_token"])
    token = await served.tokens(client, "anna", "anna password")
    api = await sign_in(served)
    await served.code(api, client.client_id)
    await api.service("token", client, **{**exchange_of(await served.code(api)), "code_verifier": "x"})
    await api.post("/api/auth/sms-code", json={"phone": "+8613800000001", "purpose": "reset-password"})
    store, now = served.store, served.clock.now()
    store.add_tallies(*served.service.activity.take_refusals(), now)
    store.count_entries(now, 1_000)
    store.record_milestone(Milestone.SWEPT, now)
    store.take_lease("sweeping", "another", 60, now)
    return Neighbour(served, write, client, anna, token)


async def test_every_route_answers_beside_words_of_a_later_release(neighbour: Neighbour) -> None:
    served = neighbour.served
    api = await served.administrator()
    listed = await api.succeed("GET", "/api/monitor/online-users?clientId=app")
    ids = {"clients": "app", "client_id": "app", "roles": "auditors", "session_id": listed["items"][0]["id"]}
    ids |= dict.fromkeys(("people", "user_id"), neighbour.anna)
    neighbour.set_words()
    browsers = [await served.sign_in_browser(), await served.sign_in_browser("anna", "anna password")]
    for each in (api, *browsers):
        each.is_held_to_document = False  # The document lists only the words of this release.
    for method, path in rules():
        if method == "GET":
            address = fill_in(path, **ids)
            for browser in browsers:
                shown = await browser.get(address, follow_redirects=True)
                assert shown.status_code < 500, (path, shown.text)
            answer = await api.call("GET", address)
            assert answer.status_code < 500, (path, answer.text)
    for method, path in rules():
        if method != "GET":
            await api.sign_in()
            answer = await api.call(method, fill_in(path, **ids), {})
            assert answer.status_code < 500, (method, path, answer.text)


@pytest.mark.parametrize("neighbour", ["sqlite"], indirect=True)
async def test_every_command_reads_words_of_a_later_release(neighbour: Neighbour, tmp_path: Path) -> None:
    neighbour.set_words()
    machine = Machine(tmp_path, RATE_LIMIT_SCALE="1000")
    [session] = neighbour.write(f"SELECT session_id FROM sessions WHERE kind = '{WORD}' LIMIT 1")
    for words in (
        *("user list", "user show anna", "client list", "client show app", "audit export", "export", "sweep"),
        *("check", f"explain {session[0]}", "user end-sessions anna", "client force-logout app"),
        "end-everything --yes",
    ):
        ran = await trio.to_thread.run_sync(machine.run, *words.split())
        # `check` finds that the records are of another time: the clock of their server was set by hand.
        assert ran.exit_code == int(words == "check"), (words, ran.err)
    assert neighbour.holds("sessions", "kind")


async def test_tokens_of_an_unknown_kind_of_session_are_accepted_nowhere(neighbour: Neighbour) -> None:
    """The client may still revoke the token, and an administrator may end its session."""
    served, client, token = neighbour.served, neighbour.client, neighbour.token
    helper = await holder_of(served, Permission.ONLINE_KILL, Permission.ONLINE_LIST, username="helper")
    api = served.api()
    assert await api.is_active(client, token["access_token"])
    neighbour.set_word("sessions", "kind")
    for each in (token["access_token"], token["refresh_token"]):
        assert not await api.is_active(client, each)
        for path in ("/api/oauth2/userinfo", "/api/auth/me", "/api/iam/users"):
            await api.fail(401, "A1001", "GET", path, token=each)
    refused = await api.refresh(client, token["refresh_token"])
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    helper.is_held_to_document = False
    [session] = (await helper.succeed("GET", "/api/monitor/online-users?clientId=app"))["items"]
    assert session["kind"] == WORD
    await helper.fail(403, "A0403", "DELETE", f"/api/monitor/online-users/{session['id']}")
    assert (await api.service("revoke", client, token=token["refresh_token"])).status_code == 200
    assert (await helper.succeed("GET", "/api/monitor/online-users?clientId=app"))["items"] == []
    assert neighbour.holds("sessions", "kind")


async def test_what_an_administrator_did_not_touch_is_kept(neighbour: Neighbour) -> None:
    """The interface is sent some fields, and a form all of them: unknown words stay in both cases."""
    served = neighbour.served
    api, browser = await served.administrator(), await served.sign_in_browser()
    kept = [("clients", "grant_types"), ("clients", "scopes"), ("roles", "permissions")]
    kept += [("users", "locale"), ("users", "timezone"), ("users", "epoch_why")]
    for table, column in kept:
        neighbour.set_word(table, column)
    for place, record_id in (("clients", "app"), ("roles", "auditors"), ("people", neighbour.anna)):
        paths = {"clients": "/api/oauth/clients", "roles": "/api/iam/roles", "people": "/api/iam/users"}
        await api.succeed("PUT", f"{paths[place]}/{record_id}", {"name": "Another name"})
        form = await browser.get(f"/admin/{place}/{record_id}/edit")
        assert WORD in form.text
        sent = {**fields_sent_by(form.text), "name": "A third name"}
        saved = await browser.post(f"/admin/{place}/{record_id}/edit", data=sent)
        assert saved.status_code == 303, saved.text
        assert "A third name" in (await browser.get(f"/admin/{place}/{record_id}")).text
    assert [place for place in kept if not neighbour.holds(*place)] == []


async def test_an_unknown_permission_opens_nothing_and_is_not_passed_on(neighbour: Neighbour) -> None:
    served = neighbour.served
    neighbour.set_word("roles", "permissions")
    anna = await sign_in(served)
    assert (await anna.succeed("GET", "/api/auth/me"))["permissions"] == ["audit.read"]
    other = await holder_of(served, *Permission, username="holds-all")
    bob = served.user("dora", "dora password", roleIds=[])
    path, body = f"/api/iam/users/{await bob}", {"roleIds": ["auditors"]}
    await other.fail(403, "A0403", "PUT", path, body)
    await (await served.administrator()).succeed("PUT", path, body)


async def test_an_unknown_grant_type_is_not_registered(neighbour: Neighbour) -> None:
    neighbour.write(f"UPDATE clients SET grant_types = '[\"{WORD}\"]' WHERE client_id = 'app'")
    api = neighbour.served.api()
    for grant_type, error in ((WORD, "unsupported_grant_type"), ("refresh_token", "unauthorized_client")):
        sent = {"grant_type": grant_type, "refresh_token": neighbour.token["refresh_token"]}
        refused = await api.service("token", neighbour.client, **sent)
        assert (refused.status_code, refused.json()["error"]) == (400, error)


async def test_an_unknown_reason_ends_and_voids_as_any_other(neighbour: Neighbour) -> None:
    api = neighbour.served.api()
    neighbour.write("UPDATE users SET epoch = epoch + 1")
    neighbour.set_word("users", "epoch_why")
    assert not await api.is_active(neighbour.client, neighbour.token["access_token"])
    administrator = await neighbour.served.administrator()
    await administrator.succeed("POST", f"/api/iam/users/{neighbour.anna}/force-logout")


def fields_sent_by(form: str) -> dict[str, Any]:
    """Return the fields that a browser sends for a form that its user did not change."""
    fields: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        given = {name: unescape(value) for name, value in re.findall(r'(\w+)="([^"]*)"', tag)}
        if given.get("type") != "checkbox" or " checked" in tag:
            fields.setdefault(given.get("name", ""), []).append(given.get("value", ""))
    for name, text in re.findall(r'<textarea[^>]* name="(\w+)"[^>]*>(.*?)</textarea>', form, re.DOTALL):
        fields[name] = unescape(text)
    for name, options in re.findall(r'<select[^>]* name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.findall(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        fields[name] = next((value or text for value, text in chosen), "")
    return fields
