"""A further language is one file beside the others: then every page, message and command can speak it."""

from pathlib import Path
from typing import Final

import httpx
import pytest

from ostiary_core.texts import Language, Languages
from ostiary_web import texts
from tests.support.callers import Caller, Markup, expect_refusal, sso
from tests.support.files import SHEET, rows_of, sheet_of
from tests.support.people import code_for, outbox, sign_in, with_phone
from tests.support.processes import Machine
from tests.support.served import fill_in, rules, serving
from tests.web.attacks.test_markup import SHOWN_AFTER_A_FORM

TAG: Final = "qaa-QM"
ASKED: Final = {"Accept-Language": "qaa"}
NOT_PAGES: Final = ("/api/", "/brand/", "/files/", "/static/", "/healthz", "/readyz", "/language")


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Languages:
    """Return the languages that the server finds with one more file in their folder."""
    folder = Path(__file__).parent / "languages"
    monkeypatch.setattr(Caller, "is_held_to_document", False)
    monkeypatch.setattr(texts, "__path__", [*texts.__path__, str(folder)])
    return texts.find_languages()


def assert_is_made_up(page: httpx.Response, english: Language) -> None:
    """Assert that a page is in the made-up language, and that no piece of it is a text in English."""
    assert (page.headers["content-language"], f'<html lang="{TAG}"' in page.text) == (TAG, True)
    shown = {piece.strip(" \n,.·:→←()") for piece in Markup(page.text).texts}
    assert any(piece.startswith("«") for piece in shown)
    assert shown & set(english.texts.values()) <= {"Ostiary"}, page.request.url


async def test_a_third_language_is_spoken_by_every_page(tmp_path: Path, three: Languages) -> None:
    async with serving(tmp_path, languages=three) as served:
        client, _ = await served.client(), await served.client("other")
        await served.tokens(client)
        visitor = served.browser(**ASKED)
        assert_is_made_up(await visitor.get("/login"), three.default)
        await visitor.sign_in()
        [used] = [entry for entry in served.audit() if entry.kind == "code-used"]
        parts = {"clients": "app", "client_id": "app", "roles": "super_admin", "run_id": "nobody"}
        parts |= {"people": str(used.user_id), "session_id": str(used.session_id)}
        pages = {fill_in(path, **parts) for method, path in rules() if method == "GET"}
        pages = {path for path in pages if not path.startswith(NOT_PAGES)}
        assert len(pages) > 30
        for path in sorted(pages):
            asks_which = path.endswith("/online/end") or path.startswith("/admin/selected/")
            asked = f"{path}?selected={used.session_id}" if asks_which else path
            page = await visitor.get(sso("other") if path == "/sso" else asked)
            if page.status_code == 303:
                assert path == "/login" or path in SHOWN_AFTER_A_FORM
                continue
            is_nobodys = path.endswith("/nobody") or path.startswith("/account/tokens/")
            assert page.status_code == (404 if is_nobodys else 200), path
            if path.endswith(("/export", "/import-template")):
                assert all(str(heading).startswith("«") for heading in rows_of(page.content)[0]), path
                continue
            assert_is_made_up(page, three.default)
        assert_is_made_up(await visitor.get("/nowhere"), three.default)
        assert_is_made_up(await visitor.get("/sso"), three.default)
        form = await visitor.get("/account/phone")
        assert_is_made_up(await visitor.submit(form, {"phone": "1"}, to="/account/phone"), three.default)
        home = await served.browser().get("/")
        assert all(f">{name}<" in home.text for name in ("English", "中文", "«Made up»"))
        disable = await visitor.get("/admin/clients/app/disable")
        assert "«one: It can no longer authenticate. 1 running" in disable.text


async def test_an_account_and_its_messages_have_a_third_language(tmp_path: Path, three: Languages) -> None:
    async with serving(tmp_path, languages=three) as served:
        await with_phone(served, locale=TAG)
        await code_for(served, "+8613800000001", "reset-password")
        assert outbox(served)[-1]["text"].startswith("«")
        visitor = served.browser()
        assert "You are" not in (await visitor.sign_in("anna", "anna password")).text
        account = await visitor.get("/account")
        assert_is_made_up(account, three.default)
        assert f'<option value="{TAG}" lang="{TAG}" selected>' in account.text
        assert (await visitor.get("/api/auth/me")).json()["data"]["locale"] == TAG
        await visitor.submit(account, {"locale": "en-US"}, to="/account/language")
        await visitor.submit(await visitor.get("/account"), {"locale": TAG}, to="/account/language")
        assert_is_made_up(await visitor.get("/account"), three.default)
        api = await sign_in(served)
        await api.succeed("PUT", "/api/auth/locale", {"locale": TAG})
        wrong = await api.call("PUT", "/api/auth/locale", {"locale": "fr-FR"}, headers=ASKED)
        [error] = expect_refusal(wrong, 400, "A0401")["errors"]
        assert error == {"path": "locale", "msg": "«must be en-US« or »qaa-QM« or »zh-CN»"}


async def test_the_interface_and_its_sheets_speak_a_third_language(tmp_path: Path, three: Languages) -> None:
    async with serving(tmp_path, languages=three, API_DOCS_ENABLED="true") as served:
        await served.user("anna")
        visitor = served.browser(**ASKED)
        await visitor.sign_in()
        permissions = (await visitor.get("/api/iam/permissions")).json()["data"]
        assert {tuple(each["description"]) for each in permissions} == {three.tags}
        assert all(each["description"][TAG].startswith("«") for each in permissions)
        document = (await visitor.get("/api/docs-json")).json()
        assert document["components"]["schemas"]["Locale"]["enum"] == list(three.tags)

        assert "«User name»" in rows_of((await visitor.get("/api/iam/users/export")).content)[0]
        template = (await visitor.get("/api/iam/users/import-template")).content
        notes = [row[2:] for row in rows_of(template, 1)]
        assert [f"«Any of: {', '.join(three.tags)}; may be empty.»"] in notes
        sheet = sheet_of([["«User name»", "«Name»", "«Must change the password»"], ["bob", "Bob", "«yes»"]])
        place, file = "/admin/people/import", {"file": ("sheet.xlsx", sheet, SHEET)}
        done = await visitor.submit(await visitor.get(place), {"mode": "insert"}, to=place, files=file)
        assert "«1 registered, 0 changed, 0 unchanged.»" in done.text


def test_a_third_language_is_spoken_on_the_command_line(tmp_path: Path, three: Languages) -> None:
    machine = Machine(tmp_path, three)
    assert machine.run("migrate").exit_code == 0
    said = machine.run("user", "create", "anna", "--draw-password", "--locale", TAG, "--language", TAG)
    assert said.lines[1].startswith("«User name»")
    said = machine.run("user", "list", env={"LANG": "qaa_QM.UTF-8@x"})
    assert said.lines[0].startswith("«USER NAME»")
    assert said.err == "«1 to 2 of 2»\n"
    assert all("«" in line for line in machine.run("check", "--language", TAG).lines)
    refusal = machine.run("client", "disable", "nobody", "--language", TAG)
    assert refusal.err == "ostiary: nobody: A0404 «Not found.»\n"
    assert "[en-US|qaa-QM|zh-CN]" in machine.run("user", "list", "--help").out
    unknown = machine.run("user", "list", "--language", "fr")
    assert unknown.exit_code == 2
    assert "'fr' is not one of en-US, qaa-QM, zh-CN" in unknown.err
