"""Events of clients: what administrators do with them, and how their secrets are used."""

from collections.abc import Mapping
from dataclasses import field

from ostiary_core.events.callers import Caller
from ostiary_core.model.instant import Instant
from ostiary_core.model.making import immutable
from ostiary_core.model.secret import Digest, Entropy


@immutable(kw_only=True)
class ClientRegistered:
    """An administrator registers a client; `fields` is the JSON object as sent, checked by the rules."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientChanged:
    """An administrator changes some fields of a client."""

    caller: Caller
    client_id: str
    fields: Mapping[str, object] = field(repr=False)
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """What the caller was shown of these fields, where others are not to be undone (`meanwhile`)."""


@immutable(kw_only=True)
class ClientImported:
    """An administrator imports a row of a sheet: a new client or, with `replace`, changes of a stored one."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientRequested:
    """An administrator asks to see one client."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientEnabled:
    """An administrator enables a client; sessions that ended stay ended."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientDisabled:
    """An administrator disables a client: it may no longer authenticate, and all its sessions end."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientDeleted:
    """An administrator deletes a client for good; its identifier is never given out again."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientSecretReset:
    """An administrator resets a client's secret; issued tokens stay valid.

    `fields` is the JSON object as it was sent: with `keepOldForSeconds` the old one works on for so long.
    """

    caller: Caller
    client_id: str
    fields: Mapping[str, object] = field(default_factory=dict, repr=False)
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class OldSecretEnded:
    """An administrator ends the old secret that a reset kept working, before its time."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientSecretUsed:
    """A runtime reports, now and then, when a secret last authenticated."""

    client_id: str
    digest: Digest = field(repr=False)
    used_at: Instant


@immutable(kw_only=True)
class WrongSecretsCounted:
    """A runtime reports, now and then, how many wrong secrets of a client came since the last report."""

    client_id: str
    times: int
    last_at: Instant
