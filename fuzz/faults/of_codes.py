"""Mistakes around the authorization code, its exchange and the consent page."""

from typing import Final

from fuzz.faults.planting import mistakes_in

_PROVED: Final = "pkce.proves(event.code_verifier, code.code_challenge)"

FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.oauth.code.state_of",
        ("code-redeemable-twice", "a used code is used again", "code.session_id is not None", "False"),
        (
            *("code-good-at-300-s", "a code lives one instant longer"),
            *("snapshot.now >= expires_at", "snapshot.now > expires_at"),
        ),
        ("code-lives-600-s", "a code lives twice as long", "snapshot.policy.code_seconds", "600"),
    ),
    *mistakes_in(
        "ostiary_core.oauth.code.redeem",
        (
            *("code-of-any-client", "any client may redeem a code"),
            *(
                "(event, known, client,",
                "(event, known, known and snapshot.client(known.client_id) or client,",
            ),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.code._check_exchange",
        (
            *("used-code-good-again", "its client may redeem a code again"),
            *("refusal is not None", "refusal not in (None, Why.CODE_USED)"),
        ),
        (
            *("redirect-uri-unchecked", "the exchange takes any redirect_uri"),
            *("event.redirect_uri != code.redirect_uri", "False"),
        ),
        (
            *("redirect-uri-optional", "the exchange needs no redirect_uri"),
            *("event.redirect_uri is None", "False"),
            *(
                "event.redirect_uri != code.redirect_uri",
                "event.redirect_uri not in (None, code.redirect_uri)",
            ),
        ),
        (
            *("uri-no-longer-registered", "a code for an address that was taken back is good"),
            *("code.redirect_uri not in client.redirect_uris", "False"),
        ),
        (
            *("scope-no-longer-registered", "a code for a scope that was taken back is good"),
            *("not set(code.scopes) <= set(client.scopes)", "False"),
        ),
        ("verifier-unchecked", "any verifier will do", f"not {_PROVED}", "False"),
        (
            *("verifier-optional", "no verifier will do", "event.code_verifier is None", "False"),
            *(f"not {_PROVED}", f"event.code_verifier and not {_PROVED}"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.code._refuse_exchange",
        (
            "failed-exchange-voids-nothing",
            "a code survives a failed exchange",
            "state_of(code, snapshot) is CodeState.VOID",
            "True",
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.code._refuse_used_code",
        (
            *("used-code-ends-session", "a used code ends its session by default"),
            *("not snapshot.policy.revoke_on_code_replay", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.token_service.redeem",
        (
            *("stranger-voids-code", "a code is void before its client is known", "return refuse(client)"),
            """presented = event.code and snapshot.code(event.code.digest)
        return code._refuse_exchange(client, presented, event.credentials, snapshot)""",
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.client_authentication.authenticate_for_grant",
        (
            *("grant-unregistered", "a client uses grants that it does not register"),
            *("grant not in client.grant_types", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.consent._ValidRequest.is_pre_approved",
        ("nobody-is-asked", "no user is asked for consent", "return set(", "return True or set("),
    ),
    *mistakes_in(
        "ostiary_core.oauth.consent._find_malformed",
        (
            *("plain-challenge", "the challenge may be plain"),
            *("asked.code_challenge_method != CHALLENGE_METHOD", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.consent._check_request",
        (
            *("trailing-slash", "an address may end in one more slash"),
            *("asked.redirect_uri not in", "asked.redirect_uri.rstrip('/') not in"),
        ),
        (
            *("must-change-unchecked", "consent before the password is changed"),
            "who = find_active_person(",
            "from ostiary_core.oauth.callers import find_person; who = find_person(",
        ),
    ),
)
