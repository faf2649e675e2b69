"""Mistakes in the session: its rotation, retries and replays, its times, what its tokens show and end."""

from typing import Final

from fuzz.faults.planting import Fault, instead, mistakes_in, together

_ROTATED: Final = "generation=session.generation + 1,"
_FOUND: Final = "found = _find_own(secret, client, snapshot)"
_FOUND_BY_ANYBODY: Final = (
    f"held = snapshot.session_by_access_token(secret.digest); {_FOUND} or held and (held, None)"
)
_HELD: Final = "snapshot.session_by_access_token(event.access_token.digest)"

FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.oauth.session.refresh",
        ("grace-one-long", "the grace lasts 31 seconds", "policy.grace_seconds", "policy.grace_seconds + 1"),
        (
            *("judged-by-its-turn", "what a retry waited for inside the server costs its grace"),
            *("= event.arrival or (now, now)", "= now, now"),
        ),
        (
            *("doubt-ends", "a retry that may have come in time ends its session"),
            *("min(earliest, now) >", "min(latest, now) >"),
        ),
        (
            *("owner-too-late", "reuse is handled before the owner"),
            "session.client_id != client.client_id",
            "session.client_id != client.client_id and session.generation == token.generation",
        ),
        ("owner-unchecked", "any client may refresh", "session.client_id != client.client_id", "False"),
        (
            *("pairs-for-nothing", "a pair is given that is good for less than a second"),
            *("whole_seconds(session.expires_at - now) > 0", "True"),
        ),
        (
            "user-agent-unchecked",
            "a retry may come from anywhere",
            "policy.compare_user_agent and",
            "False and",
        ),
        (
            *("scope-before-rotation", "a scope too wide is refused before the pair rotates"),
            "return _rotate(",
            "return refuse(Why.SCOPE_TOO_WIDE) if is_beyond(event.scopes, session.scopes) else _rotate(",
        ),
        (
            *("retry-mints", "a safe retry mints a second pair"),
            "_repeat(event, spent, session, session.salt, now)",
            "_rotate(event, spent, session, client, now)",
        ),
        (
            *("late-replay-forgiven", "a replay two generations late ends nothing"),
            "_end_by_replay(event, session, Why.REPLAYED_TWO_GENERATIONS_LATE, now)",
            "refuse(Why.REPLAYED_TWO_GENERATIONS_LATE)",
        ),
        (
            *("refused-refresh-writes", "a refused refresh touches the session"),
            "refuse(Why.TOKEN_OF_ANOTHER_CLIENT)",
            "refuse(Why.TOKEN_OF_ANOTHER_CLIENT, Update(session, revise(session, source='seen')))",
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session._rotate",
        (
            *("access-token-kept", "an access token outlives its rotation"),
            *("access_digest=access.digest,", "access_digest=session.access_digest,"),
        ),
        (
            *("maximum-extended", "a refresh moves the maximum"),
            *(_ROTATED, f"{_ROTATED} expires_at=later(now, client.refresh_token_seconds),"),
        ),
        (
            *("narrower-narrows-session", "a narrower scope is narrow for good"),
            *(_ROTATED, f"{_ROTATED} scopes=narrow_scopes(event.scopes, session.scopes),"),
        ),
        (
            *("wider-granted", "a wider scope is granted"),
            *("narrow_scopes(event.scopes, session.scopes)", "tuple(event.scopes or session.scopes)"),
            *("if is_beyond(event.scopes, session.scopes) else", "if False else"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session._repeat",
        (
            *("grace-slides", "each retry opens the window anew"),
            *("facts=(", "changes=(Update(session, revise(session, rotated_at=now)),), facts=("),
        ),
        ("retry-differs", "a safe retry answers another token", "ACCESS_LABEL", "'another:'"),
        (
            *("retry-keeps-expires-in", "expires_in of a retry is not what is left"),
            *("access, refresh_token, now)", "access, refresh_token, session.rotated_at)"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session._end_by_replay",
        ("replay-forgiven", "a replay ends nothing", "(why, *changes, facts=(fact,))", "(why)"),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session.start",
        (
            *("access-outlives", "expires_in passes the maximum"),
            *(
                "min(later(now, client.access_token_seconds), expires_at)",
                "later(now, client.access_token_seconds)",
            ),
        ),
        (
            *("machine-refreshes", "client credentials come with a refresh token"),
            *("kind is not SessionKind.CLIENT_CREDENTIALS and", ""),
        ),
        (
            *("token-written", "a session's record holds a token"),
            *("        source,\n", "        f'access token {access.reveal()}',\n"),
        ),
        (
            *("token-told", "the audit trail is told a token"),
            *("user_agent=user_agent", "user_agent=access.reveal()"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session.introspect",
        ("introspection-open", "introspection tells any client", _FOUND, _FOUND_BY_ANYBODY),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session.revoke",
        ("revocation-open", "any client may revoke", _FOUND, _FOUND_BY_ANYBODY),
        (
            *("access-revokes-nothing", "revoking with an access token ends nothing"),
            *("if found is None or", "if found is None or found[1] is None or"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.session.erase_salt",
        ("salt-erased-early", "the sweeper cuts the grace", "policy.salt_seconds", "0"),
    ),
    *mistakes_in(
        "ostiary_core.retention._expired_kind",
        ("purged-alive", "the sweeper deletes what has not expired", "now >=", "True or now >="),
    ),
    Fault(
        "refresh-at-user-info",
        "user-info takes a refresh token",
        together(
            instead(
                "ostiary_core.loading.keys.access_token_keys", "return (", "return token_keys(token) or ("
            ),
            instead(
                "ostiary_core.oauth.token_service.show_profile",
                f"held = {_HELD}",
                "token = snapshot.refresh_token(event.access_token.digest);"
                f"held = {_HELD} or token and snapshot.session(token.session_id)",
            ),
        ),
    ),
)
