"""The question who a visitor is, before a form of theirs gives power to somebody (READINGS 57).

A form that is refused for the want of a proof is answered with one question, which carries the form's fields
and is sent where the form was: it goes on as it was filled. Passwords are never carried.
"""

from dataclasses import replace
from typing import Final

from quart import Response

from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_web.application.second_factor import prove_identity
from ostiary_web.http.browser import FORM_FIELD
from ostiary_web.http.context import RequestRefused
from ostiary_web.pages.addresses import sign_in_page
from ostiary_web.pages.context import PageContext, render

PROOF: Final = "proof"
"""Form field with the visitor's own password or code."""
_NOT_CARRIED: Final = frozenset({PROOF, FORM_FIELD, "password", "recovery_code"})


async def take_proof(page: PageContext) -> Refused | None:
    """Prove who the visitor is by what came with a form, if anything did; return why it proves nothing."""
    proof = page.form.get(PROOF, "") or page.form.get("recovery_code", "")
    account = page.request.account_known
    if not proof or account is None or account.user is None:
        return None
    try:
        # The rules look at the one that proves this user.
        await prove_identity(page.request, proof, proof)
    except RequestRefused as refusal:
        return refusal.reply
    page.request.account_known = replace(account, must_prove_identity=False)
    return None


async def ask_for_proof(page: PageContext, refused: Refused | None) -> Response:
    """Ask the visitor to prove who they are; the form that was sent goes on with the answer.

    A visitor whom wrong answers signed out is redirected to the sign-in.
    """
    if refused is not None and MEANINGS[refused.why].status == 401:
        return page.redirect(sign_in_page(page.address, "signed_out=1"))
    return await render(
        page,
        "prove.html",
        refused=refused or Why.PROOF_REQUIRED,
        carried=[(name, value) for name, value in page.form.items(multi=True) if name not in _NOT_CARRIED],
        loses_password=bool(page.form.get("password")),
    )
