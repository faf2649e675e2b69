"""The page that offers a second factor: secret, picture and recovery codes, and the form for a first code.

The form carries what is shown, so that a wrong code leads to the same page: the server keeps neither.
"""

import segno
from markupsafe import Markup
from quart import Response

from ostiary_core.model.one_time_password import otpauth_uri
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import Secret
from ostiary_web.application.second_factor import SecondFactorSecret
from ostiary_web.pages.context import PageContext, render_on_the_way

_MOST_SHOWN = 400
"""Most characters of secret or codes that a form may bring back."""


def read_offer(page: PageContext, username: str) -> SecondFactorSecret | None:
    """Return the second factor that the sent form was shown with, if any."""
    secret, codes = page.form.get("secret", ""), page.form.get("recovery_codes", "")
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
        secret=" ".join(offered.secret[place : place + 4] for place in range(0, len(offered.secret), 4)),
        picture=_picture(offered.uri),
    )


def _picture(uri: str) -> Markup:
    """Return a QR code as SVG; dark on light whatever the page has, as not every reader takes the reverse."""
    # Made of digits, letters and paths alone: nothing of the address is in the markup.
    code = segno.make(uri, error="m", micro=False)
    return Markup(code.svg_inline(scale=4, dark="#000", light="#fff"))  # noqa: S704
