"""Events for the stories, complete: with defaults for all that a story leaves out."""

from base64 import urlsafe_b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import count
from typing import Any

from ostiary_core import Entropy, MemoryStore, Secret, events as e
from ostiary_core.model.decision import Update
from ostiary_core.model.instant import Arrival
from ostiary_core.model.records import Client, Session, revise
from ostiary_core.model.reply import LoginIssued, TokensIssued

BROWSER = "Mozilla/5.0"
APP = "app-backend/1.0"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

_draws = count()


def fresh_entropy() -> Entropy:
    """Return 32 bytes that no other event has."""
    return Entropy(sha256(f"a story's draw {next(_draws)}".encode()).digest())


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636 §4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


CHALLENGE = challenge_of(VERIFIER)


def hash_of(password: str) -> str:
    """Return a text in place of a password's argon2id, as the core does not hash."""
    return f"hash of {password}"


def redirect_uri_of(client_id: str) -> str:
    """Name the host by the first 63 characters, as a label has no more."""
    return f"https://{client_id[:63]}.example/callback"


def user(
    username: str = "alice",
    *,
    phone: str | None = None,
    roles: tuple[str, ...] = (),
    must_change_password: bool = False,
) -> e.UserRegistered:
    """Register an account whose password is "right"."""
    return e.UserRegistered(
        caller=e.Operator(),
        fields={
            "username": username,
            "name": username.capitalize(),
            "phone": phone,
            "mustChangePassword": must_change_password,
            "roleIds": list(roles),
        },
        password_hash=hash_of("right"),
        entropy=fresh_entropy(),
    )


def credentials(client_id: str, secret: str) -> e.ClientCredentials:
    """Make credentials with any secret, by HTTP Basic."""
    method = e.AuthenticationMethod.BASIC
    return e.ClientCredentials(client_id=client_id, secret=Secret(secret), method=method)


def role(code: str, *permissions: str) -> e.RoleRegistered:
    """Register a role with these permissions, whose name is its code."""
    fields = {"code": code, "name": code.capitalize(), "permissions": list(permissions)}
    return e.RoleRegistered(caller=e.Operator(), fields=fields)


def user_change(user_id: str, /, **fields: object) -> e.UserChanged:
    """Change some fields of an account."""
    return e.UserChanged(caller=e.Operator(), user_id=user_id, fields=fields)


def client_change(client_id: str = "app", /, **fields: object) -> e.ClientChanged:
    """Change some fields of a client."""
    return e.ClientChanged(caller=e.Operator(), client_id=client_id, fields=fields)


# --- the token service


def redeem(
    credentials: e.ClientCredentials,
    code: Secret | None,
    *,
    redirect_uri: str | None = "",
    verifier: str | None = VERIFIER,
    user_agent: str | None = APP,
) -> e.CodeRedeemed:
    """Redeem a code with everything right; an empty `redirect_uri` stands for the client's own."""
    return e.CodeRedeemed(
        credentials=credentials,
        code=code,
        redirect_uri=redirect_uri_of(credentials.client_id) if redirect_uri == "" else redirect_uri,
        code_verifier=verifier,
        user_agent=user_agent,
        source="198.51.100.5",
        entropy=fresh_entropy(),
    )


def refresh(
    credentials: e.ClientCredentials,
    spent: TokensIssued | Secret | None,
    *,
    scopes: tuple[str, ...] | None = None,
    user_agent: str | None = APP,
    arrival: Arrival | None = None,
) -> e.RefreshRequested:
    """Present the refresh token of a pair."""
    return e.RefreshRequested(
        credentials=credentials,
        refresh_token=spent.refresh_token if isinstance(spent, TokensIssued) else spent,
        scopes=scopes,
        user_agent=user_agent,
        entropy=fresh_entropy(),
        arrival=arrival,
    )


def machine(credentials: e.ClientCredentials) -> e.ClientCredentialsRequested:
    return e.ClientCredentialsRequested(credentials, None, APP, "198.51.100.5", fresh_entropy())


def revoke(credentials: e.ClientCredentials, token: Secret | None) -> e.RevocationRequested:
    return e.RevocationRequested(credentials=credentials, token=token)


def profile(token: Secret) -> e.ProfileRequested:
    return e.ProfileRequested(access_token=token)


def grant_more(store: MemoryStore, session: Session, scopes: tuple[str, ...]) -> None:
    """Give a session other scopes by hand, as no flow can while `user.read` is the only one."""
    store.write([Update(session, revise(session, scopes=scopes, access_scopes=scopes))])


def set_secret(store: MemoryStore, client: Client, secret: Secret) -> None:
    """Give a client a secret by hand, of characters that ours never hold."""
    store.write([Update(client, revise(client, secret_digest=secret.digest))])


# --- the consent page


def caller_of(login: LoginIssued) -> e.SignedIn:
    return e.SignedIn(access_token=login.tokens.access_token)


def parameters(client_id: str | None = "app", **asked: Any) -> e.AuthorizationParameters:
    """Return a right query of `/sso`, with `asked` in place of some of it; None leaves one out."""
    right = e.AuthorizationParameters(
        response_type="code",
        client_id=client_id,
        redirect_uri=redirect_uri_of(client_id or ""),
        code_challenge=CHALLENGE,
        code_challenge_method="S256",
        scope=None,
        state="some state",
    )
    return replace(right, **asked)


def check(login: LoginIssued, client_id: str | None = "app", **asked: str | None) -> e.AuthorizationChecked:
    return e.AuthorizationChecked(caller=caller_of(login), parameters=parameters(client_id, **asked))


def approve(login: LoginIssued, client_id: str | None = "app", **asked: str | None) -> e.ConsentGiven:
    return e.ConsentGiven(
        caller=caller_of(login), parameters=parameters(client_id, **asked), entropy=fresh_entropy()
    )


def request_automatically(
    login: LoginIssued, client_id: str | None = "app", **asked: str | None
) -> e.AutomaticConsentRequested:
    return e.AutomaticConsentRequested(
        caller=caller_of(login), parameters=parameters(client_id, **asked), entropy=fresh_entropy()
    )


def deny(login: LoginIssued, client_id: str | None = "app", **asked: str | None) -> e.ConsentDenied:
    return e.ConsentDenied(caller=caller_of(login), parameters=parameters(client_id, **asked))


# --- the account


def sign_in(
    username: str = "alice", against: str | None = hash_of("right"), **changed: Any
) -> e.SignInAttempted:
    """Enter the right password, verified against this hash; `changed` in place of some fields."""
    right = e.SignInAttempted(
        username=username,
        verified_against=against,
        password_matches=True,
        user_agent=BROWSER,
        source="203.0.113.7",
        entropy=fresh_entropy(),
    )
    return replace(right, **changed)


def login_refresh(spent: LoginIssued | Secret, *, arrival: Arrival | None = None) -> e.LoginRefreshed:
    token = spent.tokens.refresh_token if isinstance(spent, LoginIssued) else spent
    assert token is not None
    return e.LoginRefreshed(refresh_token=token, user_agent=BROWSER, entropy=fresh_entropy(), arrival=arrival)


def personal_token(login: LoginIssued, **changed: object) -> e.PersonalTokenCreated:
    """Create a personal access token for a month; `changed` replaces fields, `...` leaves one out."""
    fields = {"name": "deploys", "permissions": (), "expiresInDays": 30, **changed}
    return e.PersonalTokenCreated(
        caller=caller_of(login),
        fields={name: value for name, value in fields.items() if value is not ...},
        user_agent=BROWSER,
        source="203.0.113.7",
        entropy=fresh_entropy(),
    )


def phone_change(login: LoginIssued, phone: str, code: Secret) -> e.PhoneChanged:
    """Enter a new telephone number as the user who is signed in."""
    return e.PhoneChanged(
        caller=caller_of(login),
        verified_against=hash_of("right"),
        password_matches=True,
        phone=phone,
        code=code,
    )


def password_change(login: LoginIssued, *, old: str = "right", new: str = "newer") -> e.PasswordChanged:
    """Change the password of a user whose password on file is "right"."""
    return e.PasswordChanged(
        caller=caller_of(login),
        verified_against=hash_of("right"),
        password_matches=old == "right",
        new_password_hash=hash_of(new),
    )
