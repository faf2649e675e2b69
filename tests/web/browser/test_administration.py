"""The administration in a real browser: clients, people, roles, online users, audit, sheets."""

from pathlib import Path

from tests.support.browser import Household, Visit, add_person, register_client


def test_a_client_is_registered_with_its_secret_shown_once(visit: Visit) -> None:
    visitor = visit()
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.sign_in("admin")
    visitor.open("/admin/clients/new")
    visitor.fill(clientId="no blanks allowed", redirectUris="http://far.example/cb\nhttps://fine.example/cb")
    visitor.press("Register")
    assert visitor.page.get_attribute("#clientId", "aria-invalid") == "true"
    assert "1: must begin with https://" in visitor.text
    assert visitor.page.evaluate("document.activeElement.id") == "clientId", "the first fault has the focus"

    visitor.fill(clientId="bookshop", name="Book Shop", redirectUris="https://books.example/cb")
    for grant in ("authorization_code", "refresh_token", "client_credentials"):
        visitor.page.check(f"input[value={grant}]")
    visitor.page.check("input[name=scopes]")
    visitor.press("Register")
    secret = visitor.page.inner_text("#secret-text")
    assert len(secret) == 43
    visitor.page.locator("[data-copies=secret-text]").click()
    assert visitor.page.evaluate("navigator.clipboard.readText()") == secret
    assert 'OAuth2Session("bookshop"' in visitor.text
    visitor.open("/admin/clients/bookshop")
    assert secret not in visitor.page.content()

    answer = visitor.page.request.post(
        f"{visitor.household.server}/api/oauth2/token",
        form={"grant_type": "client_credentials", "client_id": "bookshop", "client_secret": secret},
    )
    assert answer.status == 200
    visitor.open("/admin/clients/bookshop/disable")
    assert "1 running session that you may see ends at once" in visitor.text
    visitor.press("Disable")
    assert "Disabled" in visitor.text
    visitor.press("Enable")
    visitor.press("Reset the secret")
    visitor.press("Reset the secret")
    assert visitor.page.inner_text("#secret-text") != secret
    visitor.press("Delete")
    visitor.press("Delete")
    visitor.open("/admin/clients?q=bookshop")
    assert "Nothing matches" in visitor.text


def test_a_clients_endpoints_are_one_table_and_each_is_copied(visit: Visit) -> None:
    visitor = visit(viewport={"width": 360, "height": 800}, locale="zh-CN")
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.sign_in("admin")
    visitor.open("/admin/clients/demo-shop")
    table = visitor.page.locator("table.endpoints")
    rows = dict(row.inner_text().split("\t")[:2] for row in table.locator("tr").all())
    server = visitor.household.server
    public = "https://www.example.com/auth"
    assert rows["令牌"].strip() in (f"{server}/api/oauth2/token", f"{public}/api/oauth2/token")
    assert rows["PKCE 方法"].strip() == "S256"
    copied = table.get_by_role("button", name="复制 令牌", exact=True)
    copied.click()
    assert visitor.page.evaluate("navigator.clipboard.readText()") == rows["令牌"].strip()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") == 360
    without = visit("admin", java_script_enabled=False)
    without.open("/admin/clients/demo-shop")
    assert "/api/oauth2/revoke" in without.page.locator("table.endpoints").inner_text()
    assert without.page.locator("table.endpoints button:visible").count() == 0


def test_a_new_client_works_as_proposed_and_one_without_a_scope_is_warned_of(visit: Visit) -> None:
    visitor = visit("admin", java_script_enabled=False)
    visitor.open("/admin/clients/new")
    assert "authorization_code: sign users in" in visitor.text
    assert "300 (5 min) to 86400 (1 d); 1800 (30 min) if left empty" in visitor.text
    visitor.fill(clientId="proposed", name="Proposed", redirectUris="https://proposed.example/cb")
    visitor.press("Register")
    assert "604800 (7 d)" in visitor.text
    assert visitor.page.locator(".notice.warning").count() == 0
    visitor.open("/admin/clients/proposed/edit")
    visitor.page.uncheck("input[name=scopes]")
    visitor.press("Save")
    assert "every authorization request for it is refused" in visitor.page.inner_text(".notice.warning")


def test_an_old_secret_works_on_for_as_long_as_was_said_and_can_be_ended_early(visit: Visit) -> None:
    visitor = visit("admin", java_script_enabled=False)
    drawn = [register_client(visitor, "rotating")]

    def reset(overlap: str) -> None:
        visitor.open("/admin/clients/rotating")
        visitor.press("Reset the secret")
        visitor.page.select_option("#overlap", label=overlap)
        visitor.press("Reset the secret")
        drawn.append(visitor.page.inner_text("#secret-text"))

    reset("1 day")
    assert "Old secret works until" in visitor.text
    visitor.open("/admin/clients/rotating")
    visitor.press("End the old secret")
    visitor.press("Cancel")
    assert "Old secret works until" in visitor.text
    visitor.press("End the old secret")
    visitor.press("End the old secret")
    assert "Old secret works until" not in visitor.text
    assert visitor.page.get_by_role("link", name="End the old secret").count() == 0
    reset("no time: it ends at once")
    assert "Old secret works until" not in visitor.text
    assert len(set(drawn)) == 3


def test_people_are_added_changed_and_signed_out_everywhere(visit: Visit) -> None:
    visitor = visit("admin", java_script_enabled=False)
    add_person(visitor, "dora", "Dora Dean", "short")
    assert "must be 8 to 256 characters" in visitor.text
    assert visitor.page.evaluate("document.activeElement.id") == "password"
    assert visitor.page.input_value("#password") == ""
    visitor.fill(password="long enough")
    visitor.page.check("input[value=auditor]")
    visitor.press("Save")
    assert "Dora Dean" in visitor.text
    person = visitor.path
    visitor.press("Edit")
    visitor.fill(name="Dora Dean-Smith")
    visitor.press("Save")
    assert "Dora Dean-Smith" in visitor.text

    dora = visit("dora", "long enough", java_script_enabled=False)
    visitor.open(f"{person}/force-out")
    assert "Dora Dean-Smith is signed out" in visitor.text
    assert "1 running session ends at once." in visitor.text
    visitor.press("Sign out everywhere")
    dora.open("/account")
    assert dora.path == "/login"
    visitor.open(f"{person}/disable")
    visitor.press("Disable")
    dora.sign_in("dora", "long enough")
    assert "The user name or password is wrong." in dora.text


def test_a_role_that_is_held_stays(visit: Visit) -> None:
    visitor = visit("admin", java_script_enabled=False)
    visitor.open("/admin/roles/auditor/delete")
    visitor.press("Delete")
    assert "still referenced" in visitor.text
    visitor.open("/admin/roles/super_admin")
    assert "cannot be changed" in visitor.text
    assert visitor.page.get_by_role("link", name="Edit").count() == 0


def test_a_session_is_ended_and_its_life_says_by_whom(visit: Visit, household: Household) -> None:
    shopper = visit(java_script_enabled=False)
    shopper.enter_shop("liwei")
    visitor = visit("admin", java_script_enabled=False)
    visitor.open("/admin/online?clientId=demo-shop&sort=-signedInAt")
    row = visitor.page.locator("tbody tr", has_text="liwei").first
    life = row.get_by_role("link", name="History").get_attribute("href")
    row.get_by_role("link", name="End").click()
    assert "李伟 (liwei) · demo-shop · 127.0.0.1 python-httpx" in visitor.text.replace("\n", " ")
    visitor.press("End")
    shopper.page.goto(household.shop)
    assert shopper.text.count("not active") == 2
    assert life is not None
    visitor.open(life)
    assert "admin ended this one session" in visitor.text


def test_the_actions_of_sessions_are_seen_at_any_width_and_several_end_together(visit: Visit) -> None:
    agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/128.0"
    visitor = visit("admin", java_script_enabled=False)
    add_person(visitor, "wilhelmina.montgomery", "Wilhelmina Montgomery-Smythe", "long enough")
    secret = register_client(visitor, "night-batch-reports")
    visitor.page.request.post(
        f"{visitor.household.server}/api/oauth2/token",
        form={
            "grant_type": "client_credentials",
            "client_id": "night-batch-reports",
            "client_secret": secret,
        },
    )
    for _ in range(2):
        visit(java_script_enabled=False, user_agent=agent).sign_in("wilhelmina.montgomery", "long enough")

    for width in (1030, 1280, 360):
        visitor.page.set_viewport_size({"width": width, "height": 800})
        visitor.open("/admin/online")
        for action in visitor.page.locator("tr:first-child td.actions a").all():
            assert action.evaluate(
                "e => { scrollBy(0, e.getBoundingClientRect().y - 300);"
                " const b = e.getBoundingClientRect();"
                " return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2) === e; }"
            ), width
    visitor.open("/admin/online?kind=machine&clientId=night-batch-reports&ip=127.0")
    assert visitor.page.locator("tbody tr").count() == 1
    assert "Machine" in visitor.text
    visitor.open("/admin/online?userId=wilhelmina.montgomery")
    for box in visitor.page.locator("tbody input[type=checkbox]").all():
        box.check()
    visitor.press("End selected")
    assert visitor.text.count("Wilhelmina Montgomery-Smythe (wilhelmina.montgomery) · console") == 2
    assert "2 sessions end at once" in visitor.text
    visitor.press("End")
    assert "Nothing matches" in visitor.text


def test_a_sheet_goes_out_and_comes_in_again(visit: Visit, tmp_path: Path) -> None:
    visitor = visit("admin", java_script_enabled=False)
    visitor.open("/admin/roles")
    with visitor.page.expect_download() as download:
        visitor.press("Export")
    sheet = tmp_path / "roles.xlsx"
    download.value.save_as(sheet)
    visitor.press("Import")
    visitor.page.set_input_files("#file", sheet)
    visitor.press("Import")
    assert "Row 2" in visitor.text, "what is there already is a mistake where only adding was asked for"
    visitor.page.set_input_files("#file", sheet)
    visitor.page.check("input[value=upsert]")
    visitor.press("Import")
    assert "0 registered" in visitor.text


def test_the_menu_tells_administration_from_ones_own_account_and_hides_nothing(visit: Visit) -> None:
    visitor = visit("admin", java_script_enabled=False, viewport={"width": 360, "height": 800})
    visitor.open("/admin/nowhere")
    assert "There is nothing here" in visitor.text
    menus = visitor.page.get_by_role("navigation")
    administration = menus.and_(visitor.page.get_by_label("Administration"))
    own = menus.and_(visitor.page.get_by_label("My account", exact=True))
    assert administration.get_by_role("link").all_inner_texts() == [
        *("Overview", "Clients", "Users", "Roles", "Online", "Audit")
    ]
    assert own.get_by_role("link").all_inner_texts() == ["My account", "My applications", "My sessions"]
    for entry in visitor.page.locator("header nav a").all():
        assert entry.evaluate("e => (b => b.x >= 0 && b.right <= innerWidth)(e.getBoundingClientRect())")
