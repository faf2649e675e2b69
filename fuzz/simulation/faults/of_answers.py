"""Mistakes in what is answered and shown: refusals, pages, sheets, pictures, cookies and limits."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.planting import Fault, mistakes_in
from ostiary_core.http import token_service
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why


def change_meaning(why: Why, name: str, value: Any) -> Callable[[], AbstractContextManager[None]]:
    """A plant that gives a reason another meaning for a while."""

    @contextmanager
    def planted() -> Iterator[None]:
        before = getattr(MEANINGS[why], name)
        object.__setattr__(MEANINGS[why], name, value)
        try:
            yield
        finally:
            object.__setattr__(MEANINGS[why], name, before)

    return planted


_WITH_ITS_REASON: Final = 'return await render(page, "consent_error.html", refused=refused, faults=faults)'

FAULTS: Final = (
    Fault(
        "status-of-another",
        "a wrong current password is answered 400",
        change_meaning(Why.CURRENT_PASSWORD_WRONG, "status", 400),
    ),
    Fault(
        "failure-unknown",
        "a failure has a code that nobody knows",
        change_meaning(Why.INTERNAL_ERROR, "code", "A0999"),
    ),
    Fault(
        "no-challenge",
        "a 401 does not say by which scheme to authenticate",
        lambda: patch.object(token_service, "_CHALLENGE", (b"x-authenticate", b"Basic")),
    ),
    *mistakes_in(
        "ostiary_web.pages.consent._answer",
        (
            *("page-of-another", "the page at /sso gives the reason of another request"),
            *("refused=refused", "refused=Why.RESPONSE_TYPE_UNSUPPORTED"),
        ),
        (
            *("page-forbidden", "the page at /sso has another status than its reason", _WITH_ITS_REASON),
            f"response = {_WITH_ITS_REASON[7:]}; response.status_code = 403; return response",
        ),
        (
            *("page-without-question", "the page at /sso does not put the question"),
            *('"consent.html"', '"consent_error.html"'),
        ),
    ),
    *mistakes_in(
        "ostiary_web.api.resources.roles.list_permissions",
        (
            *("permissions-unreadable", "whoever reads the list of permissions is answered 500"),
            *("context.languages", "context.no_such_languages"),
        ),
    ),
    *mistakes_in(
        "ostiary_web.pages.context.render",
        ("page-without-reason", "the page at /sso gives no reason", "page.refusal_text(why)", "''"),
    ),
    *mistakes_in(
        "ostiary_core.throttling.rate_windows.RateWindows.admit",
        (
            *("limit-and-one", "one request past a limit is answered"),
            *("self._limits[operation]", "self._limits[operation] + 1"),
        ),
        ("limit-of-all", "addresses share their limits", "address_of(source)", "'everybody'"),
    ),
    *mistakes_in(
        "ostiary_net.runtime.files.Files.read",
        (
            *("picture-of-another", "somebody else's picture is served"),
            *("self.folder / name", "min(self.folder.iterdir(), default=self.folder / name)"),
        ),
    ),
    *mistakes_in(
        "ostiary_web.http.browser.keep_login",
        (
            *("cookies-swapped", "a browser's two tokens change places"),
            *("tokens.access_token", "tokens.refresh_token"),
            *("tokens.refresh_token.reveal(), REFRESH", "tokens.access_token.reveal(), REFRESH"),
        ),
    ),
    *mistakes_in(
        "ostiary_web.api.resources.sheet_rows._decode_row",
        ("sheet-negated", "a sheet's yes is taken for no", "= _read_boolean(", "= not _read_boolean("),
    ),
    *mistakes_in(
        "ostiary_web.api.resources.sheet_rows._judge_cell",
        (
            *("error-cell-read", "a cell with an error is taken for its text"),
            *("case str() if is_error(cell):", "case str() if not cell:"),
        ),
    ),
    *mistakes_in(
        "ostiary_web.api.resources.imports.import_sheet",
        (
            *("import-replaces", "a sheet of new records changes those that are there"),
            *("REPLACES[upload.mode]", "True"),
        ),
    ),
    *mistakes_in(
        "ostiary_web.api.auth.sign_in",
        (
            *("overtaken-believed", "a password that was changed while it was verified is believed"),
            *(
                "verified_against=password_hash",
                """verified_against=getattr(
                    (await context.submit(events.PasswordHashRequested(of=username))).reply,
                    "password_hash",
                    None,
                )""",
            ),
        ),
    ),
    *mistakes_in(
        "ostiary_core.http.userinfo.answer",
        ("locale-told-wrong", "user-info tells another language", "profile.locale", "'en-US'"),
    ),
    *mistakes_in(
        "ostiary_web.http.browser._set_cookie",
        (
            "cookie-on-plain",
            "a cookie of https goes over plain connections",
            "secure=_secure()",
            "secure=False",
        ),
    ),
    *mistakes_in(
        "ostiary_web.pages.context.open_page",
        (
            *("refresh-cookie-ignored", "a browser with its refresh cookie alone is signed out"),
            *("refresh_token = read_refresh_cookie()", "refresh_token = None"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.http.form.read_form",
        (
            "field-twice-accepted",
            "of a field that comes twice one is taken",
            "if name in fields:",
            "if False:",
        ),
    ),
    *mistakes_in(
        "ostiary_core.http.credentials.read_credentials",
        (
            *("two-ways-accepted", "a client may authenticate in two ways at once"),
            *('if "client_secret" in form:', "if False:"),
        ),
    ),
)
