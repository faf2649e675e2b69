"""Published faults of other authorization servers, as far as they concern functions of this one.

Every entry was looked up by its identifier; a fault without one has the section that forbids it instead.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Fault(NamedTuple):
    """The product that had it, and its description."""

    product: str
    fault: str


PUBLISHED: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        "CVE-2020-15234": Fault("Ory Fosite", "redirect addresses compared without regard to case"),
        "CVE-2026-3872": Fault("Keycloak", "`..;/` in a redirect address left the registered path"),
        "CVE-2026-7504": Fault("Keycloak", "several `@` hid the host of a redirect address from its check"),
        "GHSA-mpwq-j3xf-7m5w": Fault("Keycloak", "the check of redirect addresses could be bypassed"),
        "CVE-2024-8883": Fault("Keycloak", "a registered `http://localhost` let any address pass"),
        "CVE-2026-18211": Fault("Keycloak", "`http://localhost.evil.test` passed for localhost"),
        "CVE-2026-9086": Fault("Keycloak", "`JaVaScRiPt:` was registered, as only lower case was refused"),
        "CVE-2026-22752": Fault("Spring Authorization Server", "`javascript:` and `data:` were registered"),
        "CVE-2025-4143": Fault(
            "Cloudflare workers-oauth-provider", "the redirect address was checked only at the exchange"
        ),
        "CVE-2026-9689": Fault("Keycloak", "of a repeated parameter one was checked and the other used"),
        "CVE-2026-7571": Fault("Keycloak", "the implicit flow could be had although it was off"),
        "CVE-2024-39694": Fault("Duende IdentityServer", "foreign addresses passed for local after sign-in"),
        "CVE-2024-22258": Fault("Spring Authorization Server", "PKCE of confidential clients downgraded"),
        "CVE-2023-48228": Fault("authentik", "a missing code_verifier was not missed"),
        "CVE-2025-4144": Fault("Cloudflare workers-oauth-provider", "PKCE could be left out of the exchange"),
        "RFC 9700 §4.8": Fault("several", "a code_verifier was accepted for a code without a challenge"),
        "CVE-2023-2585": Fault("Keycloak", "a code of one client was redeemed by another"),
        "CVE-2026-47386": Fault("NocoDB", "two exchanges of one code at once both got tokens"),
        "CVE-2026-1035": Fault("Keycloak", "a refresh token used many times at once gave many pairs"),
        "CVE-2026-9802": Fault("Keycloak", "rotated refresh tokens came back to life at a restart"),
        "keycloak/keycloak#49213": Fault(
            "Keycloak", "a refresh whose transaction failed counted as a use and cost the session"
        ),
        "RFC 9700 §4.14.2": Fault(
            "several", "reuse detection that can be set off by a client that does not own the token"
        ),
        "CVE-2016-6582": Fault("Doorkeeper", "a client could revoke tokens of another, yet not its own"),
        "CVE-2023-0091": Fault("Keycloak", "revoked tokens of client credentials stayed good"),
        "GHSA-83c4-ffjp-mxp9": Fault("Keycloak", "introspection overlooked an ending where there were two"),
        "RFC 7662 §4": Fault("several", "introspection told one client of another's tokens"),
        "GHSA-gv94-wp4h-vv8p": Fault("Keycloak", "the Bearer header was read too generously"),
        "CVE-2022-31690": Fault(
            "Spring Security", "a token response that named no scope gave more than was granted"
        ),
        "RFC 6749 §2.3.1": Fault("several", "an empty secret passed, or Basic was decoded once too often"),
        "panva/oauth4webapi#54": Fault("several", "secrets with `+` and `%` were read as others"),
        "CVE-2026-40575": Fault("OAuth2 Proxy", "a stranger's header decided what was protected"),
        "CVE-2026-0976": Fault("Keycloak", "`;` in a path led past the rules of a proxy"),
        "CVE-2026-22746": Fault("Spring Security", "sign-in told a disabled account from others"),
        "CVE-2016-4977": Fault("Spring Security OAuth", "the error page evaluated what it was sent"),
        "CVE-2019-8400": Fault("Ory Hydra", "the error page showed parameters as markup"),
        "RFC 6749 §5.2": Fault("several", "errors that repeat what was sent"),
        "RFC 9700 §4.2": Fault("several", "codes and states leaked by the Referer header"),
        "RFC 9700 §4.12": Fault("several", "a 307 sent the user's password on to the client"),
        "RFC 9700 §4.16": Fault("several", "consent pages shown inside of a foreign frame"),
    }
)

BY_ROW: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("Client", "redirectUris"): (
            "CVE-2026-7504, CVE-2024-8883, CVE-2026-18211, CVE-2026-9086, CVE-2026-22752"
        ),
        ("Client", "client secret"): "panva/oauth4webapi#54",
        ("/sso parameters", "response_type"): "CVE-2026-7571",
        ("Consent endpoint errors", "B4001: redirect_uri not registered"): "CVE-2025-4143",
        ("Consent endpoint errors", "A0401: code_challenge missing"): "RFC 9700 §4.8",
        ("Consent endpoint errors", "A0401: code_challenge_method not S256"): "CVE-2024-22258",
        ("Token-service errors", "invalid_grant: code_verifier missing"): (
            "CVE-2024-22258, CVE-2023-48228, CVE-2025-4144"
        ),
        ("Token-service errors", "invalid_grant: code of another client"): "CVE-2023-2585",
        ("Token response", "scope"): "CVE-2022-31690",
        ("Token request", "authentication by Basic, not form-decoded"): "RFC 6749 §2.3.1",
        ("Authentication rules", "1 no secret"): "RFC 6749 §2.3.1",
        ("Authentication rules", "3 client_credentials token: revoked"): "CVE-2023-0091",
        ("Introspection response", "only active: false"): "RFC 7662 §4",
        ("Session and tokens", "refresh token used by another client"): "RFC 9700 §4.14.2",
        ("Session and tokens", "revoke with an access token"): "CVE-2016-6582",
        ("Revoke request", "a token of another client"): "CVE-2016-6582",
        ("User-info", "token invalid"): "GHSA-gv94-wp4h-vv8p",
        ("Limits rules", "2 per source IP, TRUST_PROXY"): "CVE-2026-40575",
    }
)
"""Which faults a row of the specification rules out, and so the tests that prove it."""

BY_TEST: Final[Mapping[str, str]] = MappingProxyType(
    {
        "web/attacks/test_published_faults.py::test_every_ending_counts_whatever_others_there_are": (
            "GHSA-83c4-ffjp-mxp9"
        ),
        "web/attacks/test_published_faults.py::test_nearly_a_token_is_no_token": "GHSA-gv94-wp4h-vv8p",
        "web/attacks/test_published_faults.py::test_no_answer_repeats_what_was_sent": "RFC 6749 §5.2",
        "web/attacks/test_published_faults.py::test_no_header_of_a_stranger_opens_a_door": "CVE-2026-40575",
        "core/test_http_requests.py::test_a_malformed_field_is_refused": "CVE-2026-9689",
        "net/postgres/test_processes.py::test_racing_refreshes_of_one_token_all_get_the_same_pair": (
            "CVE-2026-1035"
        ),
        # The kit looks after every crash whether what was spent is spent, and who races gets one pair.
        "net/store/test_conformance.py::test_our_store_is_sound": (
            "CVE-2026-9802, CVE-2026-1035, CVE-2026-47386"
        ),
        "web/attacks/test_addresses.py::test_another_spelling_of_an_address_is_not_there": "CVE-2026-0976",
        "web/attacks/test_enumeration.py::test_a_failed_sign_in_is_the_same_for_a_name_that_is_not_there": (
            "CVE-2026-22746"
        ),
        "web/attacks/test_markup.py::test_no_page_makes_an_element_of_what_an_address_says": (
            "CVE-2016-4977, CVE-2019-8400"
        ),
        "web/attacks/test_redirects.py::test_nothing_but_a_registered_address_gets_a_code": (
            "CVE-2020-15234, CVE-2026-3872, CVE-2026-7504, GHSA-mpwq-j3xf-7m5w, "
            "CVE-2024-8883, CVE-2026-18211, CVE-2025-4143"
        ),
        "web/test_every_route.py::test_every_answer_is_secluded": "RFC 9700 §4.2, RFC 9700 §4.16",
        "web/operations/test_failing_statements.py::"
        "test_a_store_that_fails_at_any_one_statement_is_answered_as_a_failure_and_keeps_nothing": (
            "keycloak/keycloak#49213"
        ),
        "web/test_browser_session.py::test_a_sign_in_leads_only_to_a_path_of_this_server": "CVE-2024-39694",
        "web/test_consent_page.py::test_an_invalid_request_stays_with_its_reason": "CVE-2026-9689",
        "web/test_consent_page.py::test_a_visitor_signs_in_and_comes_back_to_the_same_page": (
            "RFC 9700 §4.12"
        ),
    }
)
"""Which faults a test shows to be absent, by its file below `tests` and its name."""

LISTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "RFC 9700": "2.1 2.1.1 2.1.2 2.2 2.3 2.4 2.5 2.6 4.1-17",
        "RFC 6819": (
            "4.1.1-5 4.2.1-4 4.3.1-5 4.4.1.1-13 4.4.4 4.5.1-4 4.6.1-7 5.1.1-3 5.1.4.1-2 5.1.5.1-11 5.1.6 "
            "5.2.1.1 5.2.2.1-6 5.2.3.1-7 5.2.4.1-5"
        ),
        "OWASP ASVS 5.0": (
            "6.1.1-3 6.2.1-12 6.3.1-8 6.4.1-6 6.5.1-8 6.6.1-4 7.1.1-3 7.2.1-4 7.3.1-2 7.4.1-5 7.5.1-3 "
            "7.6.1-2 10.4.1-16 10.7.1-3"
        ),
    }
)
"""Identifiers in lists of others, by heading of docs/threat-model.md, which has a row for each.

`4.1.1-5` is five.
"""


def identifiers_of(listed: str) -> Iterator[str]:
    """Yield every identifier of a list, one by one.

    >>> list(identifiers_of("2.1 4.4.1.1-3"))
    ['2.1', '4.4.1.1', '4.4.1.2', '4.4.1.3']
    """
    for word in listed.split():
        first, _, last = word.partition("-")
        stem, _, number = first.rpartition(".")
        yield from (f"{stem}.{each}" for each in range(int(number), int(last or number) + 1))


def rows_of(identifier: str) -> list[tuple[str, str]]:
    """Return the rows, by table and name, that rule a fault out."""
    return [row for row, faults in BY_ROW.items() if identifier in faults.split(", ")]


def proofs_of(identifier: str) -> list[tuple[str, str]]:
    """Return file and name of each test that shows a fault to be absent."""
    found = [test for test, faults in BY_TEST.items() if identifier in faults.split(", ")]
    return [(file, name) for file, _, name in (test.partition("::") for test in found)]
