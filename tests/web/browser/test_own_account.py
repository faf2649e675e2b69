"""One's own account in a real browser: language, zone, picture, telephone, applications, sign-ins."""

from pathlib import Path

from tests.support.browser import PASSWORD, Household, Visit, Visitor
from tests.support.files import png


def test_language_and_zone_are_kept_and_the_switch_is_this_browsers_alone(visit: Visit) -> None:
    visitor = visit("liwei", java_script_enabled=False)
    visitor.open("/account")
    assert "我的账号" in visitor.text, "the account's own language"
    visitor.page.get_by_role("link", name="English").click()
    assert "My account" in visitor.text
    visitor.page.select_option("#timezone", "Europe/Berlin")
    visitor.page.locator("form[action$='/account/zone'] button").click()
    assert "Saved." in visitor.text
    assert visitor.page.input_value("#timezone") == "Europe/Berlin"
    visitor.page.select_option("#locale", "zh-CN")
    visitor.page.locator("form[action$='/account/language'] button").click()
    assert "已保存" in visitor.text, "choosing for the account overrides the switch"


def test_a_picture_is_put_up_and_taken_down(visit: Visit, tmp_path: Path) -> None:
    picture = tmp_path / "me.png"
    picture.write_bytes(png(40, 40))
    visitor = visit("bob", java_script_enabled=False)
    visitor.open("/account")
    visitor.page.set_input_files("#file", picture)
    visitor.press("Upload")
    assert "Saved." in visitor.text
    address = visitor.page.locator("img.picture").evaluate("picture => picture.src")
    assert "/auth/files/" in address
    assert visitor.page.request.get(address).headers["content-type"] == "image/png"
    visitor.press("Remove")
    assert "No picture yet" in visitor.text
    (tmp_path / "not.png").write_text("<script>alert(1)</script>")
    visitor.page.set_input_files("#file", tmp_path / "not.png")
    visitor.press("Upload")
    assert "Some fields are not valid." in visitor.text


def test_a_telephone_is_proved_and_recovers_the_password(visit: Visit, household: Household) -> None:
    visitor = visit("bob", java_script_enabled=False)
    visitor.open("/account/phone")
    visitor.fill(phone="+8613800138000")
    visitor.press("Send the code")
    [code] = _await_codes(visitor, household, "+8613800138000", 1)
    visitor.fill(code=code, password=PASSWORD)
    visitor.press("Save")
    assert "+8613800138000" in visitor.text

    forgetful = visit(java_script_enabled=False)
    forgetful.open("/login")
    forgetful.press("Forgot your password?")
    forgetful.fill(phone="+8613800138000")
    forgetful.press("Send the code")
    assert "If the number belongs to an account" in forgetful.text
    code = _await_codes(forgetful, household, "+8613800138000", 2)[-1]
    forgetful.fill(code=code, new_password="correct horse")
    forgetful.press("Set a new password")
    assert "Your new password is set" in forgetful.text
    visitor.open("/account")
    assert visitor.path == "/login", "recovery ends everything that was open"


def _await_codes(visitor: Visitor, household: Household, phone: str, count: int) -> list[str]:
    """The codes, once so many were written: they leave beside the request."""
    for _ in range(100):
        codes = household.text_codes(phone)
        if len(codes) >= count:
            return codes
        visitor.page.wait_for_timeout(50)
    raise AssertionError("no text message was written")


def test_an_application_is_withdrawn_and_its_sessions_end(visit: Visit, household: Household) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.enter_shop("wangfang")
    visitor.open("/account/applications")
    assert "Demo Shop" in visitor.text
    visitor.page.get_by_role("link", name="撤回授权").click()
    assert "1 个活跃会话" in visitor.text
    visitor.page.get_by_role("button", name="撤回授权").click()
    assert "尚无已授权的应用" in visitor.text
    visitor.page.goto(household.shop)
    assert visitor.text.count("not active") == 2


def test_another_browser_is_signed_out_from_here(visit: Visit) -> None:
    there = visit("wangfang", java_script_enabled=False, user_agent="the other browser")
    here = visit("wangfang", java_script_enabled=False)
    here.open("/account/sessions")
    row = here.page.locator("tr", has_text="the other browser").first
    row.get_by_role("button").click()
    assert here.path == "/account/sessions"
    there.open("/account")
    assert there.path == "/login"


def test_the_browsers_zone_is_proposed_and_every_time_names_its_zone(visit: Visit) -> None:
    visitor = visit("wangfang", timezone_id="Europe/Lisbon")
    assert "您的浏览器所在时区为 Europe/Lisbon" in visitor.text
    visitor.press("使用该时区")
    assert visitor.path == "/account"
    assert visitor.page.input_value("#timezone") == "Europe/Lisbon"
    offered = visitor.page.locator("#timezone option").all_inner_texts()
    assert "Asia/Calcutta" not in offered, "no former names"
    assert visitor.page.locator("#timezone optgroup[label=Europe] option").count() > 30
    visitor.open("/account/sessions")
    assert "Europe/Lisbon 时区" in visitor.page.inner_text("footer")
    titles = visitor.page.locator("time").evaluate_all("all => all.map(each => each.title)")
    assert set(titles) == {"Europe/Lisbon"}
    assert visitor.page.locator("#zone-proposal").count() == 0
