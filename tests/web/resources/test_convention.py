"""Every resource that is declared keeps to the convention for lists and records."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from ostiary_core.model.secret import digest_of
from ostiary_net.runtime.system import SystemClock
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.server.submissions import Submissions
from tests.rows import row
from tests.support.callers import Api, expect_refusal, fields_of
from tests.support.served import Served

Body = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A resource as the tests know it: how to make records, and what its fields are called."""

    path: str
    key: str
    """The field that names a record, and by which lists may be sorted."""
    new: Callable[[str], Body]
    """Return the body that makes a record of this name."""
    record: frozenset[str]
    built_in: int
    """How many records there are from the start."""
    change: Body = field(default_factory=lambda: {"name": "Another name"})
    dated: bool = True

    async def make(self, api: Api, name: str) -> Body:
        """Make a record; return it."""
        data: Body = await api.succeed("POST", self.path, self.new(name), status=201)
        return data


CLIENTS = Kind(
    path="/api/oauth/clients",
    key="clientId",
    new=lambda name: {"clientId": name, "name": f"The {name}", "grantTypes": ["client_credentials"]},
    record=frozenset(
        {
            *("id", "clientId", "name", "redirectUris", "grantTypes", "scopes", "autoApproveScopes"),
            *("accessTokenTtl", "refreshTokenTtl", "enabled", "builtIn", "createdAt", "updatedAt"),
            *("lastUsedAt", "secretLastUsedAt", "oldSecretLastUsedAt", "oldSecretUntil"),
            *("wrongSecrets", "wrongSecretLastAt", "secretExpiresOn"),
        }
    ),
    built_in=2,
)
USERS = Kind(
    path="/api/iam/users",
    key="username",
    new=lambda name: {"username": name, "name": f"The {name}", "password": "a good password"},
    record=frozenset(
        {
            *("id", "username", "name", "phone", "enabled", "mustChangePassword", "roleIds", "locale"),
            *("timezone", "avatarUrl", "secondFactor", "lastSignInAt", "createdAt", "updatedAt"),
        }
    ),
    built_in=1,
)
ROLES = Kind(
    path="/api/iam/roles",
    key="code",
    new=lambda name: {"code": name, "name": f"The {name}", "permissions": []},
    record=frozenset(["id", "code", "name", "permissions", "builtIn"]),
    built_in=1,
    dated=False,
)

every_resource = pytest.mark.parametrize("kind", [CLIENTS, USERS, ROLES], ids=["clients", "users", "roles"])
dated_resources = pytest.mark.parametrize("kind", [CLIENTS, USERS], ids=["clients", "users"])


async def keys(api: Api, kind: Kind, **query: Any) -> list[str]:
    """Return the names on a page of the list."""
    return [item[kind.key] for item in (await api.succeed("GET", kind.path, params=query))["items"]]


# --- records


@every_resource
@row("General envelope and status codes", "200, 201")
async def test_a_record_is_made_shown_changed_and_deleted(served: Served, api: Api, kind: Kind) -> None:
    made = await kind.make(api, "one")
    assert set(made) - {"secret"} == kind.record
    shown = await api.succeed("GET", f"{kind.path}/{made['id']}")
    assert set(shown) == kind.record
    assert shown == {name: value for name, value in made.items() if name != "secret"}

    served.clock.wait(5)
    changed = await api.succeed("PUT", f"{kind.path}/{made['id']}", kind.change)
    moved = {"updatedAt": changed["updatedAt"]} if kind.dated else {}
    assert changed == {**shown, **kind.change, **moved}
    assert not kind.dated or changed["updatedAt"] > shown["updatedAt"]
    assert await api.succeed("GET", f"{kind.path}/{made['id']}") == changed

    assert await api.succeed("DELETE", f"{kind.path}/{made['id']}") is None
    for method in ("GET", "DELETE"):
        await api.fail(404, "A0404", method, f"{kind.path}/{made['id']}")
    await api.fail(404, "A0404", "PUT", f"{kind.path}/{made['id']}", kind.change)
    assert "one" not in await keys(api, kind)


@every_resource
@pytest.mark.parametrize("sent", ["nothing", "all of it"])
async def test_what_stands_already_is_no_change(served: Served, api: Api, kind: Kind, sent: str) -> None:
    """A record may be sent back as it was shown."""
    made = await kind.make(api, "one")
    shown = await api.succeed("GET", f"{kind.path}/{made['id']}")
    before, told = served.records(), served.audit()
    served.clock.wait(5)
    assert await api.succeed("PUT", f"{kind.path}/{made['id']}", {} if sent == "nothing" else shown) == shown
    assert (served.records(), served.audit()) == (before, told)


ONLY_SHOWN = {
    *("id", "builtIn", "secondFactor", "avatarUrl", "lastSignInAt", "createdAt", "updatedAt", "wrongSecrets"),
    *("secretLastUsedAt", "oldSecretLastUsedAt", "oldSecretUntil", "wrongSecretLastAt"),
}


@every_resource
async def test_another_value_of_what_is_only_shown_is_refused(served: Served, api: Api, kind: Kind) -> None:
    made = await kind.make(api, "one")
    path, before = f"{kind.path}/{made['id']}", served.records()
    for name in ONLY_SHOWN & made.keys():
        assert fields_of(await api.fail(400, "A0401", "PUT", path, {name: "another"})) == [name]
    assert served.records() == before


@every_resource
async def test_a_record_in_two_rows_of_an_import_is_refused(served: Served, api: Api, kind: Kind) -> None:
    """Otherwise the later row would undo the earlier one, and the answer would count both as done."""
    await kind.make(api, "one")
    before = served.records()
    rows = [[kind.key, "name"], ["one", "First"], ["one", "First"], ["one", "Second"]]
    failure = expect_refusal(await api.import_sheet(kind.path, rows), 400, "A0401")
    assert fields_of(failure) == [f"rows.{number}.{kind.key}" for number in (3, 4)]
    assert served.records() == before


@every_resource
@row("General envelope and status codes", "409")
async def test_a_taken_name_is_a_conflict_that_names_its_field(served: Served, api: Api, kind: Kind) -> None:
    await kind.make(api, "one")
    served.clock.wait(2)
    before = served.records()
    assert fields_of(await api.fail(409, "A0409", "POST", kind.path, kind.new("one"))) == [kind.key]
    assert served.records() == before


@every_resource
@row("General envelope and status codes", "429")
async def test_a_create_request_sent_twice_makes_one_record(served: Served, api: Api, kind: Kind) -> None:
    """READINGS 31: the same caller, path and body within a second. A failed request may come again."""
    for _ in range(2):
        await api.fail(400, "A0401", "POST", kind.path, {**kind.new("one"), "name": ""})
    await kind.make(api, "one")
    served.clock.wait(0.999)
    for body in (kind.new("one"), dict(reversed(kind.new("one").items()))):
        failure = await api.fail(429, "A0429", "POST", kind.path, body)
        assert failure["msg"] == "The same request was just made."
    await kind.make(api, "two")
    other = await served.administrator()
    await other.fail(409, "A0409", "POST", kind.path, kind.new("one"))
    served.clock.wait(0.001)
    await api.fail(409, "A0409", "POST", kind.path, kind.new("one"))


@pytest.mark.parametrize("seconds, tries, made", [(1, 3, 0), (4, 3, 0), (20, 1, 0), (1, 2, 2)])
async def test_who_waited_for_a_request_that_failed_tries_in_the_time_that_is_left(
    autojump_clock: MockClock, seconds: float, tries: int, made: int
) -> None:
    """An answer comes in ten seconds, whatever the store does (READINGS 46)."""
    submissions, tried, outcomes = Submissions(SystemClock()), 0, []

    async def make() -> str:
        nonlocal tried
        tried += 1
        is_last = tried == tries
        await trio.sleep(seconds)
        if made and is_last:
            return "made"
        raise TurnFailed

    async def submit() -> None:
        try:
            with trio.fail_after(9):
                submitted = await submissions.submit(digest_of("ann"), "/api/iam/users", {}, make)
                outcomes.append("repeated" if submitted.is_repeated else submitted.reply)
        except (TurnFailed, trio.TooSlowError):
            outcomes.append("failed")

    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(submit)
    expected = [*["made"] * bool(made), *["repeated"] * (made - 1), *["failed"] * (3 - made)]
    assert sorted(outcomes) == sorted(expected)
    assert trio.current_time() <= begun + 9


@every_resource
@row("General envelope and status codes", "404")
async def test_what_is_not_there_is_404(api: Api, kind: Kind) -> None:
    for record_id in ("nobody", "%00", "%F0%9F%9A%AA", "a" * 3000, "..%2f", "%ff"):
        for method, body in (("GET", None), ("DELETE", None), ("PUT", kind.change)):
            await api.fail(404, "A0404", method, f"{kind.path}/{record_id}", body)


# --- several at once


@every_resource
async def test_one_that_cannot_be_deleted_keeps_them_all(served: Served, api: Api, kind: Kind) -> None:
    ids = [(await kind.make(api, name))["id"] for name in ("one", "two")]
    before = served.records()
    batch = {"ids": [ids[0], "nobody", ids[1], "none"]}
    failure = await api.fail(404, "A0404", "POST", f"{kind.path}/batch-delete", batch)
    assert fields_of(failure) == ["ids.1", "ids.3"]
    assert all(error["msg"] == "Not found." for error in failure["errors"])
    assert served.records() == before


@every_resource
async def test_what_a_batch_must_be(api: Api, kind: Kind) -> None:
    many = [str(number) for number in range(1001)]
    for ids in ({}, *({"ids": ids} for ids in ([], "one", [1], None, ["one", "one"], many))):
        failure = await api.fail(400, "A0401", "POST", f"{kind.path}/batch-delete", ids)
        assert fields_of(failure) == ["ids"], ids
    await api.fail(404, "A0404", "POST", f"{kind.path}/batch-delete", {"ids": many[1:]})


# --- lists


@every_resource
async def test_a_list_is_paged(api: Api, kind: Kind) -> None:
    for number in range(24):
        await kind.make(api, f"no{number:02}")
    total = 24 + kind.built_in
    first = await api.succeed("GET", kind.path)
    assert (len(first["items"]), first["total"]) == (20, total)
    assert all(set(item) == kind.record for item in first["items"])
    pages = [await keys(api, kind, page=page, pageSize=10) for page in (1, 2, 3, 4)]
    assert [len(page) for page in pages] == [10, 10, total - 20, 0]
    everything = await keys(api, kind, pageSize=200)
    assert len(set(everything)) == total
    assert list(chain.from_iterable(pages)) == everything == sorted(everything)
    assert await keys(api, kind, pageSize=200, sort=f"-{kind.key}") == everything[::-1]
    past = await api.succeed("GET", kind.path, params={"page": 999_999_999, "pageSize": 200})
    assert past == {"items": [], "total": total}


@every_resource
async def test_addresses_beside_the_records_name_only_what_they_can_do(api: Api, kind: Kind) -> None:
    read, written = {"GET", "HEAD"}, {"POST"}
    allowed = {"options": read, "export": read, "import-template": read, "import": written}
    for word, methods in {**allowed, "batch-delete": written}.items():
        refusal = await api.call("DELETE", f"{kind.path}/{word}")
        expect_refusal(refusal, 405, "A0405")
        assert set(refusal.headers["allow"].split(", ")) == methods
    await api.fail(404, "A0404", "DELETE", f"{kind.path}/options-of-mine")
