"""The page that offers a second factor: secret, picture and recovery codes, and the form for a first code.

The browser keeps what is shown until the code is right, so the page can be loaded again after a look at the
authenticator. The form carries it too, so that a wrong code leads to the same page: the server keeps neither.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import segno
from markupsafe import Markup
from quart import Response

from ostiary_core.model.one_time_password import otpauth_uri
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import Secret
from ostiary_web.application.second_factor import SecondFactorSecret
from ostiary_web.pages.context import PageContext, render_on_the_way

CODES_FILE: Final = "recovery-codes.txt"
"""Last part of the address of recovery codes as a file."""
_MOST_SHOWN = 400
"""Most characters of secret or codes that a form may bring back."""


def offer_fields(offered: SecondFactorSecret) -> dict[str, str]:
    """Return what the page with a second factor needs of it."""
    return {"secret": offered.secret, "recovery_codes": " ".join(offered.recovery_codes)}


def read_offer(page: PageContext, fields: Mapping[str, str], username: str) -> SecondFactorSecret | None:
    """Return the second factor that a form was shown with, or that was kept for its page, if any."""
    secret, codes = fields.get("secret", ""), fields.get("recovery_codes", "")
    if not secret or max(len(secret), len(codes)) > _MOST_SHOWN:
        return None
    uri = otpauth_uri(Secret(secret), page.request.services.settings.brand.name, username)
    return SecondFactorSecret(secret, uri.reveal(), codes.split())


async def show_set_up(
    page: PageContext,
    offered: SecondFactorSecret,
    action: str,
    reply: Refused | None = None,
    *,
    return_to: str = "/account",
    ticket: str = "",
) -> Response:
    """Show a second factor, and the form for its first code, which is sent to `action`."""
    return await render_on_the_way(
        page,
        "second_factor_set_up.html",
        return_to,
        reply,
        cancel=page.sign_in_page(return_to) if ticket else return_to,
        action=action,
        ticket=ticket,
        offered=offered,
        codes_file=f"{'/login' if ticket else '/account/second-factor'}/{CODES_FILE}",
        secret=" ".join(offered.secret[place : place + 4] for place in range(0, len(offered.secret), 4)),
        picture=_picture(offered.uri),
    )


def send_codes_file(page: PageContext, codes: Sequence[str]) -> Response:
    """Send recovery codes as a file to keep; its address holds none of them."""
    name = page.request.services.settings.brand.name
    text = "\r\n".join((page.text("page.recovery_codes_of", name=name), "", *codes, ""))
    response = Response(text.encode(), content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{CODES_FILE}"'
    response.headers["Cache-Control"] = "no-store"
    return page.keep(response)


def _picture(uri: str) -> Markup:
    """Return a QR code as SVG; dark on light whatever the page has, as not every reader takes the reverse."""
    # Made of digits, letters and paths alone: nothing of the address is in the markup.
    code = segno.make(uri, error="m", micro=False)
    return Markup(code.svg_inline(scale=4, dark="#000", light="#fff"))  # noqa: S704
