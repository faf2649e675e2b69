"""Exports and imports over the interface: an exported sheet changes nothing, and one wrong row stops all."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from io import BytesIO
from itertools import count, product
from random import Random
from typing import Any, Final, NoReturn
from zipfile import BadZipFile, ZipFile

import httpx
import pytest
import trio
from structlog.testing import capture_logs

from ostiary_core.events import Event, Operator, RoleChanged, UserForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Table
from ostiary_core.storage.listing import AUDIT
from ostiary_net.sql import paging
from ostiary_web.application.resources import exports
from ostiary_web.server.database import SQLiteFile
from tests.rows import row
from tests.support import asks
from tests.support.callers import BASE, Api, Browser, expect_refusal, expect_success, fields_of, forms_in
from tests.support.files import SHEET, book_around, cells, rows_of, sheet_of
from tests.support.people import browser_of, holder_of
from tests.support.served import Served
from tests.support.stores import origin, usernames
from tests.web.resources.test_convention import CLIENTS, ROLES, USERS, Kind, every_resource


async def export_list(api: Api, kind: Kind, headers: Any = None, **query: str) -> bytes:
    """Return the sheet of a list."""
    response = await api.call("GET", f"{kind.path}/export", params=query, headers=headers or {})
    assert response.status_code == 200, response.text
    assert (response.headers["content-type"], response.headers["cache-control"]) == (SHEET, "no-store")
    name = kind.path.rpartition("/")[2]
    assert response.headers["content-disposition"] == f'attachment; filename="{name}.xlsx"'
    return response.content


async def with_three(served: Served, kind: Kind) -> Api:
    """Make three records with texts that are hard for a sheet; return the administrator."""
    api = await served.administrator()
    for name, called in (("one", "=1+1"), ("two", "+86 @home"), ("three", "三，3; -")):
        await api.succeed("POST", kind.path, {**kind.new(name), "name": called}, status=201)
    body: dict[str, Any]
    if kind is CLIENTS:
        body = {"grantTypes": ["authorization_code", "client_credentials"], "scopes": ["user.read"]}
        body |= {"redirectUris": ["https://app.example/a,b;c", "http://localhost:8080/"]}
        body |= {"accessTokenTtl": 300}
        await api.succeed("PUT", f"{kind.path}/two", body)
    if kind is USERS:
        [one] = (await api.succeed("GET", kind.path, params={"username": "one"}))["items"]
        body = {"phone": "+8613800000000", "locale": "zh-CN", "timezone": "Asia/Tokyo"}
        body |= {"roleIds": ["super_admin"]}
        await api.succeed("PUT", f"{kind.path}/{one['id']}", body)
    return api


async def faults_of(api: Api, kind: Kind, sheet: bytes | Sequence[Any], mode: str = "upsert") -> list[str]:
    """Import a sheet that is refused; return the places at fault."""
    return fields_of(expect_refusal(await api.import_sheet(kind.path, sheet, mode), 400, "A0401"))


async def message_of(api: Api, sheet: bytes | Sequence[Any], place: str) -> str:
    """Import a sheet of users with a fault in one place; return the message."""
    [error] = expect_refusal(await api.import_sheet(USERS.path, sheet), 400, "A0401")["errors"]
    assert error["path"] == place
    return str(error["msg"])


# --- out and in again


@every_resource
@pytest.mark.parametrize("language, back", [("zh-CN", "zh-CN"), ("en-US", "en-US"), ("zh-CN", "en-US")])
async def test_exported_sheets_change_nothing(served: Served, kind: Kind, language: str, back: str) -> None:
    api = await with_three(served, kind)
    content = await export_list(api, kind, {"Accept-Language": language})
    before = served.records()
    told = len(served.audit())
    done = expect_success(await api.import_sheet(kind.path, content, **{"Accept-Language": back}))
    assert done == {"created": 0, "updated": 0, "unchanged": 3 + kind.built_in, "hashesLeft": 0}
    assert served.records() == before
    assert len(served.audit()) == told


async def _item(api: Api, kind: Kind, name: str) -> dict[str, Any]:
    items = (await api.succeed("GET", kind.path, params={kind.key: name}))["items"]
    [item] = [item for item in items if item[kind.key] == name]
    return dict(item)


@every_resource
async def test_an_export_is_what_the_filters_match_in_the_order_asked_for(served: Served, kind: Kind) -> None:
    api = await with_three(served, kind)
    headings, *rows = rows_of(await export_list(api, kind, **{kind.key: "t", "sort": f"-{kind.key}"}))
    column = headings.index({"clientId": "Client ID", "username": "User name", "code": "Code"}[kind.key])
    assert [row[column] for row in rows][:2] == ["two", "three"]
    assert [row[column] for row in rows_of(await export_list(api, kind, q="three"))[1:]] == ["three"]
    response = await api.call("GET", f"{kind.path}/export", params={"page": 1, "name": "x", "sort": "x"})
    assert fields_of(expect_refusal(response, 400, "A0401")) == ["sort", "page"]


async def test_an_export_has_records_made_since_the_count(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 5)
    monkeypatch.setattr(exports, "_ITEMS_AT_A_TIME", 3)
    names = [f"no{number:02}" for number in range(20)]
    for some in (names[:12], names[12:]):
        sheet = [["username", "name"], *([name, "Somebody"] for name in some)]
        done = expect_success(await api.import_sheet(USERS.path, sheet, mode="insert"))
        assert done["created"] == len(some)
        assert (await api.succeed("GET", USERS.path))["total"] == 13
    assert [row[1] for row in rows_of(await export_list(api, USERS))[1:]] == ["admin", *names]


async def test_an_export_keeps_to_a_range_of_times(served: Served) -> None:
    api = await with_three(served, USERS)
    served.clock.wait(60)
    await api.succeed("POST", USERS.path, USERS.new("later"), status=201)
    [later] = (await api.succeed("GET", USERS.path, params={"username": "later"}))["items"]
    for path in (USERS.path, "/api/audit/events"):
        name = "createdAt" if path == USERS.path else "at"
        for end in ("From", "To"):
            query = {f"{name}{end}": later["createdAt"]}
            total = (await api.succeed("GET", path, params=query))["total"]
            everything = (await api.succeed("GET", path))["total"]
            assert len(rows_of((await api.call("GET", f"{path}/export", params=query)).content)) - 1 == total
            assert end == "To" or total < everything


@dataclass
class Sent:
    """An answer as the front door sends it; `ends` is called before its fourth piece."""

    served: Served
    ends: Callable[[], Awaitable[object]] | None = None
    reads: int = 0
    """The number of pieces of the list that were read."""
    reads_before: list[int] = field(default_factory=list)
    """For each piece of the answer, the value of `reads` when it was sent."""
    body: bytes = b""
    is_complete: bool = False

    async def call(self, scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.body":
                self.reads_before.append(self.reads)
                self.body += message.get("body", b"")
                self.is_complete = not message.get("more_body", False)
                if len(self.reads_before) == 3 and self.ends is not None:
                    await self.ends()
            await send(message)

        await self.served.app(scope, receive, sent)

    async def export(self, api: Api, path: str, method: str = "GET") -> None:
        headers = {"Authorization": f"Bearer {api.token}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.call), base_url=BASE) as client:
            with suppress(AssertionError):  # the transport's own: the answer lacks its end
                await client.request(method, path, headers=headers)


@pytest.fixture
def sent(served: Served, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Have exports read and send each item as a piece of its own."""
    monkeypatch.setattr(exports, "_ITEMS_AT_A_TIME", 1)
    answer = Sent(served)

    items_after = type(served.store).items_after

    def read(store: Any, listing: Any, *asked: Any) -> Any:
        # Names of users are looked up beside each piece.
        answer.reads += listing.resource.name == AUDIT.name
        return items_after(store, listing, *asked)

    monkeypatch.setattr(type(served.store), "items_after", read)
    return answer


async def with_noise(served: Served) -> Api:
    """Fill the audit trail with entries longer than a compressor's buffer; return a user who may read it."""
    holder = await holder_of(served, Permission.AUDIT_READ)
    for number in range(12):
        noise = "".join(sha256(f"{number} {place}".encode()).hexdigest() for place in range(1_000))
        await served.service.decide(asks.user(f"user{number}"), replace(origin(), user_agent=noise[:32_000]))
    return holder


async def test_an_export_is_sent_while_it_is_read(served: Served, sent: Sent) -> None:
    await sent.export(await with_noise(served), "/api/audit/events/export")
    assert sent.is_complete
    assert sent.reads_before[0] <= 2
    assert sent.reads_before[3] < sent.reads_before[-1] - 3
    assert len(rows_of(sent.body)) == sent.reads  # the headings, and none for the last look


@pytest.mark.parametrize("what_ends", ["permission", "session"])
async def test_an_export_ends_with_permission_or_session(served: Served, sent: Sent, what_ends: str) -> None:
    holder = await with_noise(served)
    change: Event = RoleChanged(caller=Operator(), role_id="role-of-holder", fields={"permissions": []})
    if what_ends == "session":
        user_id = (await holder.succeed("GET", "/api/auth/me"))["id"]
        change = UserForcedOut(caller=Operator(), user_id=user_id)
    sent.ends = partial(served.decide, change)
    with capture_logs() as log:
        await sent.export(holder, "/api/audit/events/export")
    assert not sent.is_complete
    assert sent.reads_before[-1] < 8
    with pytest.raises(BadZipFile):
        ZipFile(BytesIO(sent.body))
    logged = [entry["event"] for entry in log if entry["log_level"] in ("warning", "error")]
    assert logged == ["an answer was cut off"]


async def test_an_export_that_cannot_be_read_on_is_cut_off_and_one_that_cannot_be_read_is_a_500(
    served: Served, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*asked: Any) -> NoReturn:
        raise OSError("secret detail")

    async def break_store() -> None:
        monkeypatch.setattr(type(served.store), "items_after", broken)

    holder = await with_noise(served)
    sent.ends = break_store
    with capture_logs() as log:
        await sent.export(holder, "/api/audit/events/export")
    assert [entry["event"] for entry in log][-1] == "an answer was cut off"
    assert not sent.is_complete
    assert sent.reads_before[-1] < 8
    expect_refusal(await holder.call("GET", "/api/audit/events/export"), 500, "A0500")


async def test_the_head_of_an_export_reads_one_piece(served: Served, sent: Sent) -> None:
    await sent.export(await with_noise(served), "/api/audit/events/export", "HEAD")
    assert (sent.body, sent.is_complete) == (b"", True)
    assert sent.reads <= 2


async def test_times_are_in_the_zone_of_the_request_the_user_or_china(api: Api) -> None:
    [admin] = (await api.succeed("GET", USERS.path))["items"]
    for header, own, zone, hour in (
        ("", None, "Asia/Shanghai", 16),
        ("", "America/Lima", "America/Lima", 3),
        ("Europe/Berlin", "America/Lima", "Europe/Berlin", 9),
        ("Mars/Base", "America/Lima", "America/Lima", 3),
        ("../../etc/passwd", None, "Asia/Shanghai", 16),
    ):
        await api.succeed("PUT", f"{USERS.path}/{admin['id']}", {"timezone": own})
        headings, *rows = rows_of(await export_list(api, CLIENTS, {"X-Timezone": header} if header else {}))
        place = headings.index(f"Created at ({zone})")
        assert {str(row[place]) for row in rows} == {f"2027-01-15 {hour:02}:00:00.123000"}, (header, own)


@every_resource
@pytest.mark.parametrize("language, notes", [("en-US", "What it takes"), ("zh-CN", "说明")])
async def test_a_template_explains_its_own_headings(api: Api, kind: Kind, language: str, notes: str) -> None:
    response = await api.call("GET", f"{kind.path}/import-template", headers={"Accept-Language": language})
    assert response.headers["content-type"] == SHEET
    headings = rows_of(response.content)[0]
    [explained, *fields] = rows_of(response.content, sheet=1)
    assert explained[2] == notes
    assert [field[0] for field in fields] == headings
    assert all(field[2] for field in fields)
    assert ("password" in [field[1] for field in fields]) is (kind is USERS)
    failure = expect_refusal(await api.import_sheet(kind.path, response.content), 400, "A0401")
    assert failure["errors"] == [{"path": "file", "msg": "holds no rows below the headings"}]


# --- imports


@every_resource
async def test_a_preview_says_what_each_row_would_do_and_does_nothing(served: Served, kind: Kind) -> None:
    api = await with_three(served, kind)
    headings, grants = [kind.key, "name"], []
    if kind is CLIENTS:
        headings, grants = [*headings, "grantTypes"], ["client_credentials"]
    sheet = [headings, ["one", "=1+1", *grants], ["two", "Another", *grants], ["four", "Four", *grants]]
    before = served.records()
    found = expect_success(await api.import_sheet(kind.path, sheet, preview="true"))
    assert served.records() == before
    rows, without_password = found.pop("rows"), found.pop("cannotSignIn", 0)
    assert without_password == (1 if kind.key == "username" else 0)
    assert found == {"created": 1, "updated": 1, "unchanged": 1}
    assert [(each["row"], each["name"]) for each in rows] == [(2, "one"), (3, "two"), (4, "four")]
    assert [each["outcome"] for each in rows][1:] == ["updated", "created"]
    assert {"field": "name", "before": "+86 @home", "after": "Another"} in rows[1]["changes"]
    done = expect_success(await api.import_sheet(kind.path, sheet, preview="false"))
    assert {name: done[name] for name in found} == found
    assert len(done.get("cannotSignIn", ())) == without_password


IMPORT: Final = "/admin/people/import"
NO_FILE = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n'
    b"Content-Type: application/octet-stream\r\n\r\n\r\n"
)
"""Part of a form whose file was left empty, as browsers send it."""


async def preview_page(browser: Browser, *rows: Sequence[Any], mode: str = "upsert") -> httpx.Response:
    """Send a sheet of users for a preview; return the page."""
    file = {"file": ("C:\\people.xlsx", sheet_of([["username", "name"], *rows]), SHEET)}
    sent = {"mode": mode, "preview": "true"}
    return await browser.submit(await browser.get(IMPORT), sent, to=IMPORT, files=file)


async def send_form(browser: Browser, page: httpx.Response, **values: str) -> httpx.Response:
    """Send the import form of a page without another file, as a browser does."""
    [form] = [form for form in forms_in(page) if form.action == IMPORT]
    fields = {name: value for name, value in form.fields.items() if name != "file"} | values
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    headers["Content-Type"] = "multipart/form-data; boundary=x"
    content = b"".join([*parts, NO_FILE, b"--x--\r\n"])
    return await browser.post(f"{BASE}{IMPORT}", content=content, headers=headers)


async def test_the_page_of_an_import_previews_it_and_keeps_its_sheet(served: Served) -> None:
    await served.user("anna")
    browser = await served.sign_in_browser()
    answer = await preview_page(browser, ["anna", "Anna Other"], ["bert", "Bert"])
    assert answer.status_code == 200
    assert "The import would register 1, change 1 and leave 0 unchanged." in answer.text
    assert "Name: Anna Ng → Anna Other" in answer.text
    assert 'value="upsert" checked' in answer.text
    assert "Kept for an hour: people.xlsx" in answer.text
    names = {user.name for user in served.store.records(Table.USER)}
    assert ("Anna Ng" in names, "Bert" in names) == (True, False)

    again = await send_form(browser, answer, mode="insert", preview="true")
    assert "is already taken" in again.text
    done = await send_form(browser, again, mode="upsert")
    assert "1 registered, 1 changed, 0 unchanged." in done.text
    assert 'name="kept"' not in done.text
    assert "bert" in usernames(served.store)


async def test_a_sheet_that_is_chosen_takes_the_place_of_the_one_that_was_kept(served: Served) -> None:
    browser = await served.sign_in_browser()
    page = await preview_page(browser, ["anna", "Anna"])
    file = {"file": ("other.csv", b"username,name\nbert,Bert\n", "text/csv")}
    await browser.submit(page, {"mode": "insert"}, to=IMPORT, files=file)
    assert usernames(served.store) == {"admin", "bert"}


async def test_a_kept_sheet_is_of_one_user_and_form_and_for_an_hour(served: Served) -> None:
    browser = await served.sign_in_browser()
    page = await preview_page(browser, ["bert", "Bert"])
    [form] = [form for form in forms_in(page) if form.action == IMPORT]
    kept = form.fields["kept"]
    assert "bert" not in kept
    refused = "The file: was kept for an hour only: choose it again"

    other = await browser_of(served, *Permission, username="carl")
    for sender, place in ((other, IMPORT), (browser, "/admin/roles/import")):
        answer = await sender.submit(await sender.get(place), {"mode": "insert", "kept": kept}, to=place)
        assert refused in answer.text, place
    for wrong in (kept[:-1], f"{'B' if kept[0] == 'A' else 'A'}{kept[1:]}", "é", "x"):
        assert refused in (await send_form(browser, page, mode="insert", kept=wrong)).text
    served.clock.wait(60 * 60)
    browser = await served.sign_in_browser()
    late = await browser.submit(await browser.get(IMPORT), {"mode": "insert", "kept": kept}, to=IMPORT)
    assert refused in late.text
    assert "bert" not in usernames(served.store)


async def test_a_sheet_that_is_too_long_to_keep_is_to_be_chosen_again(served: Served) -> None:
    browser = await served.sign_in_browser()
    rows = [[f"user{number}", sha256(b"%d" % number).hexdigest()] for number in range(2_000)]
    page = await preview_page(browser, *rows)
    assert "Kept for an hour" in page.text
    assert len(page.content) < 500_000
    long = "".join(map(chr, Random(7).choices(range(0x4E00, 0x9FA5), k=2_000 * 100)))
    rows = [[name, long[place : place + 100]] for place, (name, _) in zip(count(0, 100), rows, strict=False)]
    page = await preview_page(browser, *rows)
    assert ("Kept for an hour" in page.text, "too long to be kept" in page.text) == (False, True)


@every_resource
async def test_a_preview_refuses_what_an_import_would(served: Served, kind: Kind) -> None:
    api = await with_three(served, kind)
    sheet = [[kind.key, "name"], ["one", "x" * 101]]
    refused = [await api.import_sheet(kind.path, sheet, preview=preview) for preview in ("true", "false")]
    assert refused[0].status_code == 400
    assert fields_of(refused[0].json()) == fields_of(refused[1].json())
    odd = await api.import_sheet(kind.path, sheet, preview="yes")
    assert fields_of(expect_refusal(odd, 400, "A0401")) == ["preview"]


@every_resource
async def test_inserting_what_is_there_is_a_conflict_and_keeps_out_all(served: Served, kind: Kind) -> None:
    api = await with_three(served, kind)
    before = served.records()
    grants = ["client_credentials"] if kind is CLIENTS else []
    headings = [kind.key, "name", *(["grantTypes"] if kind is CLIENTS else [])]
    sheet = [headings, ["fresh", "New", *grants], ["one", "Changed", *grants], ["fresh", "Again", *grants]]
    failure = expect_refusal(await api.import_sheet(kind.path, sheet, mode="insert"), 409, "A0409")
    assert fields_of(failure) == [f"rows.3.{kind.key}", f"rows.4.{kind.key}"]
    assert served.records() == before


@every_resource
@row("General envelope and status codes", "400")
async def test_every_bad_cell_is_named_by_its_row_and_field(served: Served, kind: Kind) -> None:
    api = await with_three(served, kind)
    before = served.records()
    rows = [["good", "Good"], [None, None], ["bad one", "x" * 101], [None, "No identifier"]]
    faults = await faults_of(api, kind, [[kind.key, "name"], *rows], "insert")
    bad = {f"rows.4.{kind.key}", "rows.4.name", f"rows.5.{kind.key}"}
    assert {path for path in faults if not path.endswith("grantTypes") or kind is not CLIENTS} == bad
    assert served.records() == before


async def test_cells_are_read_as_people_and_programs_write_them(api: Api) -> None:
    sheet = [
        [
            *(" user NAME ", "姓名", "Telephone", "enabled", "须修改密码", "roleIds"),
            "Created at (Mars/Base)",
            None,
        ],
        ["anna", "Anna", 13800000000, "是", "No", "super_admin", "long ago", " "],
        [4711, 12.5, "+49301234567", 0, True, None, None, None],
        ["carl", "Carl", None, None, None, " super_admin ，", None, None],
    ]
    assert expect_success(await api.import_sheet(USERS.path, sheet, mode="insert"))["created"] == 3
    shown = ("name", "phone", "enabled", "mustChangePassword", "roleIds")
    items = (await api.succeed("GET", USERS.path))["items"]
    found = {item["username"]: tuple(item[each] for each in shown) for item in items}
    assert found["anna"] == ("Anna", "+8613800000000", True, False, ["super_admin"])
    assert found["4711"] == ("12.5", "+49301234567", False, True, [])
    assert found["carl"] == ("Carl", None, True, True, ["super_admin"])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_the_refusal_of_utf_16_without_its_mark_says_how_to_save_it(api: Api, encoding: str) -> None:
    assert '"CSV UTF-8"' in await message_of(api, "用户名\t姓名\nfang\t王芳\n".encode(encoding), "file")


async def test_a_missing_column_keeps_a_field_and_an_empty_cell_empties_it(served: Served) -> None:
    api = await with_three(served, USERS)
    expect_success(await api.import_sheet(USERS.path, [["username", "locale"], ["one", "en-US"]]))
    one = await _item(api, USERS, "one")
    assert (one["phone"], one["locale"], one["timezone"]) == ("+8613800000000", "en-US", "Asia/Tokyo")
    sheet = [["username", "timezone", "enabled"], ["one", None, None]]
    expect_success(await api.import_sheet(USERS.path, sheet))
    one = await _item(api, USERS, "one")
    assert (one["locale"], one["timezone"], one["enabled"]) == ("en-US", None, True)


async def test_new_clients_get_their_secrets_this_once(served: Served) -> None:
    api = await with_three(served, CLIENTS)
    fresh = ["fresh", "New", "client_credentials", "user.read"]
    sheet = [["clientId", "name", "grantTypes", "scopes"], fresh, ["one", "x"]]
    assert await faults_of(api, CLIENTS, sheet) == ["rows.3.grantTypes"]
    sheet[2] += ["client_credentials", "user.read"]
    [issued] = expect_success(await api.import_sheet(CLIENTS.path, sheet))["secrets"]
    assert issued["clientId"] == "fresh"
    basic = httpx.BasicAuth("fresh", issued["secret"])
    form = {"grant_type": "client_credentials"}
    assert (await api.post("/api/oauth2/token", data=form, auth=basic)).status_code == 200
    cells = [str(cell) for row in rows_of(await export_list(api, CLIENTS)) for cell in row]
    assert all(issued["secret"] not in cell for cell in cells)
    assert "Secret" not in cells


async def test_passwords_come_in_and_never_go_out(served: Served, api: Api) -> None:
    headings = ["username", "name", "password", "mustChangePassword"]
    sheet = [headings, ["anna", "Anna", "anna's password", False], ["ben", "Ben", None, None]]
    expect_success(await api.import_sheet(USERS.path, sheet, mode="insert"))
    await served.api().sign_in("anna", "anna's password")
    body = {"username": "ben", "password": ""}
    expect_refusal(await served.api().post("/api/auth/login", json=body), 400, "A0401")
    assert "Password" not in rows_of(await export_list(api, USERS))[0]
    assert b"anna's password" not in await export_list(api, USERS)
    # A sheet does not change the password of a user who exists already.
    assert await faults_of(api, USERS, sheet) == ["rows.2.password"]
    # A spreadsheet program keeps only 15 digits of a number.
    for wrong in ("short", 12345678901234567):
        sheet = [headings, ["carl", "Carl", wrong, False]]
        assert "123456" not in await message_of(api, sheet, "rows.2.password")
    expect_success(await api.import_sheet(USERS.path, [headings, ["zoe", "Zoe", 123456789012345, False]]))
    await served.api().sign_in("zoe", "123456789012345")


@pytest.mark.parametrize("own_first", [True, False])
async def test_permissions_are_judged_as_before_the_batch(served: Served, own_first: bool) -> None:
    """READINGS 51: the sheet takes the permission to import it from the role of the user who imports it."""
    api = await holder_of(served, Permission.ROLE_CREATE, Permission.ROLE_UPDATE)
    rows = [["role-of-holder", "Own", "iam.role.create"], ["porter", "Porter", "iam.role.update"]]
    sheet = [["code", "name", "permissions"], *(rows if own_first else rows[::-1])]
    done = expect_success(await api.import_sheet(ROLES.path, sheet))
    assert (done["created"], done["updated"]) == (1, 1)
    expect_refusal(await api.import_sheet(ROLES.path, sheet), 403, "A0403")


@pytest.mark.parametrize("taken_first", [True, False])
async def test_a_batch_may_pass_every_permission_on_and_not_end_it(served: Served, taken_first: bool) -> None:
    api = await served.administrator()
    for name in ("one", "two"):
        await USERS.make(api, name)
    before = served.records()
    sheet = [["username", "name", "roleIds"], ["admin", "Admin", ""], ["one", "One", ""]]
    assert fields_of(expect_refusal(await api.import_sheet(USERS.path, sheet), 422, "B1001")) == ["rows.2"]
    assert served.records() == before
    rows = [["admin", "Admin", ""], ["two", "Two", "super_admin"]]
    sheet[1:] = rows if taken_first else rows[::-1]
    assert expect_success(await api.import_sheet(USERS.path, sheet))["updated"] == 2


# --- imports that are refused


def _sheet_with(heading: str, cell: str, styles: str = "") -> bytes:
    """Return a sheet of the account `one` and one cell, given as XML."""
    texts = [f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in ("username", heading, "one")]
    return book_around(
        cells(f"<row>{texts[0]}{texts[1]}</row><row>{texts[2]}{cell}</row>"),
        **({"xl/styles.xml": styles.encode()} if styles else {}),
    )


_HEADINGS = ("name", "phone", "password", "passwordHash", "enabled", "roleIds", "locale", "createdAt")
_ERRORS = {
    '<c t="e"><v>#N/A</v></c>': "holds the spreadsheet error #N/A",
    '<c t="inlineStr"><is><t> #REF! </t></is></c>': "holds the spreadsheet error #REF!",
    "<c><f>VLOOKUP(A2,B:C,2)</f></c>": "holds a formula without its result",
}


async def test_a_cell_with_an_error_takes_nothing_away(served: Served) -> None:
    api = await with_three(served, USERS)
    before = served.records()
    for heading, (cell, msg) in product(_HEADINGS, _ERRORS.items()):
        said = await message_of(api, _sheet_with(heading, cell), f"rows.2.{heading}")
        assert said.startswith(msg), heading
    assert served.records() == before


@pytest.mark.parametrize(
    "heading, cell, shown",
    [
        ("name", "<c><v>110105199003078888</v></c>", "more than 15 digits"),
        ("name", "<c><v>1.1010519900307888E+17</v></c>", "more than 15 digits"),
        ("roleIds", "<c><v>1234567890123456</v></c>", "more than 15 digits"),
        ("roleIds", '<c s="2"><v>45678</v></c>', "is displayed differently"),
        ("name", "<c><v>123456789012345</v></c>", "123456789012345"),
        ("name", '<c s="1"><v>123</v></c>', "000123"),
        ("phone", '<c s="1"><v>12345</v></c>', "012345"),
        ("enabled", '<c s="1"><v>1</v></c>', "True"),
    ],
)
async def test_a_number_is_read_as_it_is_shown(served: Served, heading: str, cell: str, shown: str) -> None:
    """A number whose cell shows something else is refused."""
    api = await with_three(served, USERS)
    styles = (
        '<styleSheet><numFmts><numFmt numFmtId="176" formatCode="000000"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="176"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    sheet = _sheet_with(heading, cell, styles)
    if " " not in shown:
        expect_success(await api.import_sheet(USERS.path, sheet))
        assert str((await _item(api, USERS, "one"))[heading]) == shown
    else:
        assert shown in await message_of(api, sheet, f"rows.2.{heading}")


async def test_a_change_is_not_dropped_where_what_stands_breaks_the_rules_of_today(served: Served) -> None:
    """The old value breaks the rules with and without the change."""
    api = await with_three(served, CLIENTS)
    database = served.services.settings.database
    assert isinstance(database, SQLiteFile)
    # In a process of its own: a second SQLite in this one would let go of the locks of the first.
    change = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])"
    update = "UPDATE clients SET access_token_seconds = 10 WHERE client_id = 'one'"
    await trio.run_process([sys.executable, "-c", change, str(database.path), update])
    sheet: list[list[Any]] = [["clientId", "name", "accessTokenTtl"], ["one", "=1+1", 10]]
    assert expect_success(await api.import_sheet(CLIENTS.path, sheet))["unchanged"] == 1
    sheet[1] = ["one", "Changed", 10]
    assert await faults_of(api, CLIENTS, sheet) == ["rows.2.accessTokenTtl"]
    sheet[1] = ["one", "Changed", 300]
    assert expect_success(await api.import_sheet(CLIENTS.path, sheet))["updated"] == 1


async def test_the_values_that_are_allowed_are_named(api: Api) -> None:
    sheet = [["username", "name", "locale"], ["anna", "Anna", "tlh"]]
    assert await message_of(api, sheet, "rows.2.locale") == "must be en-US or zh-CN"


async def test_headings_that_are_none_or_twice_are_named(api: Api) -> None:
    wrong: list[tuple[list[Any], str]] = [
        (["username", "name", "Salary"], "C"),
        (["username", "name", "Name"], "C"),
        (["username", "用户名"], "B"),
        ([1, 2], "AB"),
        ([None, "username", "nothing"], "C"),
        (["username", "password_hash"], "B"),
    ]
    for headings, bad in wrong:
        sheet = [headings, ["anna", "anna", "anna"]]
        failure = expect_refusal(await api.import_sheet(USERS.path, sheet), 400, "A0401")
        said = {error["path"]: error["msg"] for error in failure["errors"]}
        allowed = said.pop("file", "")
        assert [*said] == [f"columns.{letter}" for letter in bad], headings
        is_twice = (bad == "C" and "Name" in headings) or "用户名" in headings
        assert allowed == "" if is_twice else "username or name or phone or password or " in allowed
        for (path, said_of_it), letter in zip(said.items(), bad, strict=True):
            heading = str(headings["ABC".index(letter)])
            words = "as another column has" if is_twice else "unknown heading"
            assert (f'"{heading}"' in said_of_it, words in said_of_it) == (True, True), path


async def test_a_value_without_a_heading_is_refused_in_each_kind_of_sheet(api: Api) -> None:
    table = [["username", "name"], ["anna", "Ng", "Anna"], ["bert", "Bert", " "]]
    text = "\n".join(",".join(row) for row in table)
    with capture_logs() as log:
        for sheet in (table, text.encode()):
            assert "has no heading" in await message_of(api, sheet, "rows.2.C")
    assert [entry["why"] for entry in log] == ["fields_invalid"] * 2


async def test_the_page_of_an_import_names_the_headings_that_are_allowed(served: Served) -> None:
    browser, place = await served.sign_in_browser(), "/admin/people/import"
    for language, words in (
        ("en-US", ("has the unknown heading &#34;Salary&#34;", "User name or Name or Telephone or Password")),
        ("zh-CN", ("的列标题“Salary”不是本表的列标题", "用户名 或 姓名")),
    ):
        file = {"file": ("people.csv", b"username,Salary\nanna,1\n", "text/csv")}
        page = await browser.get(place, headers={"Accept-Language": language})
        sent = {"mode": "insert"}
        answer = await browser.submit(page, sent, to=place, files=file, headers={"Accept-Language": language})
        for said in words:
            assert said in answer.text, (language, said)


@every_resource
async def test_the_form_must_have_a_file_and_a_mode_which_is_one_of_two(api: Api, kind: Kind) -> None:
    for mode in ("", "replace", "INSERT", "insert,upsert"):
        assert await faults_of(api, kind, [[kind.key], ["one"]], mode) == ["mode"]
    for no_sheet in (b"", b"PK", b"\x00"):
        assert await faults_of(api, kind, no_sheet) == ["file"]
    path = f"{kind.path}/import"
    two = [("file", ("a", sheet_of([["a"]]))), ("file", ("b", sheet_of([["a"]])))]
    types = ("multipart/form-data", "multipart/form-data; boundary=x")
    broken: list[Any] = [{"content": b"--y\r\n", "headers": {"Content-Type": each}} for each in types]
    for form in ({"files": {"other": ("x", b"x")}}, {"files": two}, *broken):
        assert fields_of(await api.fail(400, "A0401", "POST", path, **form)) == ["file", "mode"]
    await api.fail(415, "A0415", "POST", path, {"mode": "insert"})


async def test_a_number_that_one_row_frees_another_may_take(served: Served) -> None:
    api, phone = await with_three(served, USERS), "+8613800000000"
    sheet: list[list[Any]] = [["username", "phone"], ["one", None], ["two", phone]]
    for _ in range(2):  # a row that repeats the change does no harm
        done = expect_success(await api.import_sheet(USERS.path, sheet))
        assert (done["created"], done["unchanged"]) == (0, 0)
        assert (await _item(api, USERS, "two"))["phone"] == phone
        expect_success(await api.import_sheet(USERS.path, [sheet[0], ["two", None], ["one", phone]]))
        assert (await _item(api, USERS, "one"))["phone"] == phone


async def test_who_may_only_create_cannot_change_by_a_sheet(served: Served) -> None:
    admin = await with_three(served, USERS)
    api = await holder_of(served, Permission.USER_CREATE)
    before = served.records()
    sheet = [["username", "name"], ["one", "Changed"], ["new", "New"]]
    assert fields_of(expect_refusal(await api.import_sheet(USERS.path, sheet), 403, "A0403")) == ["rows.2"]
    assert served.records() == before
    assert expect_success(await api.import_sheet(USERS.path, [sheet[0], sheet[2]]))["created"] == 1
    assert (await _item(admin, USERS, "new"))["name"] == "New"
