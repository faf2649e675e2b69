"""Published faults of other authorization servers, as far as they are about what this one does.

    @published("CVE-2026-1035")
    async def test_…

Every entry was looked up where its identifier leads; where a fault has no identifier of its own, the section
that forbids it stands in its place.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

__all__ = ["PUBLISHED", "Fault", "address_of", "faults_of", "published"]

Test = TypeVar("Test", bound=Callable[..., object])


class Fault(NamedTuple):
    """Who had it, and what it was."""

    product: str
    fault: str


PUBLISHED: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        # --- where the browser is sent
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
        # --- codes
        "CVE-2024-22258": Fault("Spring Authorization Server", "PKCE of confidential clients downgraded"),
        "CVE-2023-48228": Fault("authentik", "a missing code_verifier was not missed"),
        "CVE-2025-4144": Fault("Cloudflare workers-oauth-provider", "PKCE could be left out of the exchange"),
        "RFC 9700 §4.8": Fault("several", "a code_verifier was accepted for a code without a challenge"),
        "CVE-2023-2585": Fault("Keycloak", "a code of one client was redeemed by another"),
        "CVE-2026-47386": Fault("NocoDB", "two exchanges of one code at once both got tokens"),
        # --- tokens
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
        # --- who is calling
        "RFC 6749 §2.3.1": Fault("several", "an empty secret passed, or Basic was decoded once too often"),
        "panva/oauth4webapi#54": Fault("several", "secrets with `+` and `%` were read as others"),
        "CVE-2026-40575": Fault("OAuth2 Proxy", "a stranger's header decided what was protected"),
        "CVE-2026-0976": Fault("Keycloak", "`;` in a path led past the rules of a proxy"),
        "CVE-2026-22746": Fault("Spring Security", "sign-in told a disabled account from others"),
        # --- what is shown
        "CVE-2016-4977": Fault("Spring Security OAuth", "the error page evaluated what it was sent"),
        "CVE-2019-8400": Fault("Ory Hydra", "the error page showed parameters as markup"),
        "RFC 6749 §5.2": Fault("several", "errors that repeat what was sent"),
        "RFC 9700 §4.2": Fault("several", "codes and states leaked by the Referer header"),
        "RFC 9700 §4.12": Fault("several", "a 307 sent the user's password on to the client"),
        "RFC 9700 §4.16": Fault("several", "consent pages shown inside of a foreign frame"),
    }
)


def published(*identifiers: str) -> Callable[[Test], Test]:
    """The faults that a test shows to be absent."""
    unknown = [identifier for identifier in identifiers if identifier not in PUBLISHED]
    if unknown or not identifiers:
        raise ValueError(f"not in PUBLISHED: {', '.join(unknown) or 'nothing named'}")

    def mark(test: Test) -> Test:
        test.__dict__["published"] = identifiers
        return test

    return mark


def faults_of(test: object) -> tuple[str, ...]:
    """The identifiers that `test` was marked with."""
    marked: tuple[str, ...] = getattr(test, "published", ())
    return marked


def address_of(identifier: str) -> str:
    """Where a published identifier leads.

    >>> address_of("RFC 9700 §4.8"), address_of("panva/oauth4webapi#54")
    ('https://www.rfc-editor.org/rfc/rfc9700#section-4.8', 'https://github.com/panva/oauth4webapi/issues/54')
    """
    if identifier.startswith("CVE-"):
        return f"https://www.cve.org/CVERecord?id={identifier}"
    if identifier.startswith("GHSA-"):
        return f"https://github.com/advisories/{identifier}"
    if identifier.startswith("RFC "):
        number, section = identifier.removeprefix("RFC ").split(" §")
        return f"https://www.rfc-editor.org/rfc/rfc{number}#section-{section}"
    repository, number = identifier.split("#")
    return f"https://github.com/{repository}/issues/{number}"
