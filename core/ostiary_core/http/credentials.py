"""Read a client's credentials: from HTTP Basic or form fields, never both (READINGS 15-17)."""

from base64 import b64decode
from collections.abc import Mapping, Sequence

from ostiary_core.events import AuthenticationMethod, ClientCredentials
from ostiary_core.http.form import header_values
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why


def read_basic(headers: Sequence[tuple[bytes, bytes]]) -> ClientCredentials | Why | None:
    """Read the credentials in the Authorization field, None without one; else return the reason."""
    match header_values(headers, b"authorization"):
        case []:
            return None
        case [value] if value.partition(b" ")[0].lower() != b"basic":
            return Why.AUTHENTICATION_SCHEME_UNKNOWN
        case [value]:
            return _from_basic(value) or Why.CREDENTIALS_MALFORMED
        case _:
            return Why.TWO_AUTHENTICATIONS


def read_credentials(
    basic: ClientCredentials | Why | None, form: Mapping[str, str]
) -> ClientCredentials | tuple[Why, AuthenticationMethod]:
    """Read the client's credentials; else return the reason and the method (READINGS 16)."""
    if basic is None:
        return _from_form(form)
    is_other_scheme = basic is Why.AUTHENTICATION_SCHEME_UNKNOWN
    if "client_secret" in form:
        # A Bearer token that some programs send with every request is told apart from a second method.
        why = Why.AUTHENTICATION_SCHEME_UNKNOWN if is_other_scheme else Why.TWO_AUTHENTICATIONS
        return why, AuthenticationMethod.BASIC
    if is_other_scheme:
        return Why.CREDENTIALS_MALFORMED, AuthenticationMethod.BASIC
    if isinstance(basic, Why):
        return basic, AuthenticationMethod.BASIC
    if form.get("client_id", basic.client_id) != basic.client_id:
        return Why.TWO_AUTHENTICATIONS, AuthenticationMethod.BASIC
    return basic


def _from_form(form: Mapping[str, str]) -> ClientCredentials | tuple[Why, AuthenticationMethod]:
    client_id, secret = form.get("client_id"), form.get("client_secret")
    if client_id is None or secret is None:
        return Why.CREDENTIALS_MISSING, AuthenticationMethod.FORM
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.FORM)


def _from_basic(value: bytes) -> ClientCredentials | None:
    """Read Basic credentials (RFC 7617 §2), not form-decoded ("POST /api/oauth2/token")."""
    encoded = value.partition(b" ")[2].strip()
    # The decoder overlooks a surplus padding (RFC 4648 §4).
    if len(encoded) % 4:
        return None
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode("utf-8").partition(":")
    except ValueError:
        return None
    if not client_id or not secret or "\x00" in client_id:
        return None
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.BASIC)
