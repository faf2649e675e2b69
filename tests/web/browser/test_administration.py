"""The administration in a real browser: clients, people, roles, online users, audit, sheets."""

from tests.support.browser import Visit, add_person
from tests.web.browser.test_signing_in import works


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

    assert works(visitor, "bookshop", secret)
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
    cells = [row.locator("th, td").all_inner_texts() for row in table.locator("tr").all()]
    rows = {row[0].strip(): row[1].strip() for row in cells}
    assert (rows["令牌"], rows["PKCE 方法"]) == (f"{visitor.household.server}/api/oauth2/token", "S256")
    table.get_by_role("button", name="复制 令牌", exact=True).click()
    assert visitor.page.evaluate("navigator.clipboard.readText()") == rows["令牌"]
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


def test_the_actions_of_sessions_are_seen_at_any_width_and_several_end_together(visit: Visit) -> None:
    agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/128.0"
    visitor = visit("admin", java_script_enabled=False)
    add_person(visitor, "wilhelmina.montgomery", "Wilhelmina Montgomery-Smythe", "long enough")
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
    visitor.open("/admin/online?userId=wilhelmina.montgomery")
    for box in visitor.page.locator("tbody input[type=checkbox]").all():
        box.check()
    visitor.press("End selected")
    assert visitor.text.count("Wilhelmina Montgomery-Smythe (wilhelmina.montgomery) · console") == 2
    assert "2 sessions end at once" in visitor.text
    visitor.press("End")
    assert "Nothing matches" in visitor.text


def test_the_menu_separates_administration_from_the_account_and_needs_no_script(visit: Visit) -> None:
    visitor = visit("admin", java_script_enabled=False, viewport={"width": 360, "height": 800})
    visitor.open("/admin/nowhere")
    assert "There is nothing here" in visitor.text
    visitor.page.locator(".app-menu summary").click()
    menus = visitor.page.get_by_role("navigation")
    administration = menus.and_(visitor.page.get_by_label("Administration"))
    own = menus.and_(visitor.page.get_by_label("My account", exact=True))
    offered = administration.get_by_role("link").all_inner_texts()
    assert offered == ["Overview", "Clients", "Users", "Roles", "Online", "Audit"]
    assert own.get_by_role("link").all_inner_texts() == ["My account", "My applications", "My sessions"]
    for entry in visitor.page.locator("header nav a").all():
        assert entry.evaluate("e => (b => b.x >= 0 && b.right <= innerWidth)(e.getBoundingClientRect())")
