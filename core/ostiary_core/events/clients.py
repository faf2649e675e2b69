"""What administrators do with clients."""

from collections.abc import Mapping
from dataclasses import field

from ostiary_core.events.callers import Caller
from ostiary_core.model.instant import Instant
from ostiary_core.model.making import immutable
from ostiary_core.model.secret import Digest, Entropy


@immutable(kw_only=True)
class ClientRegistered:
    """A new client; `fields` is the JSON object as it came, checked here and nowhere else."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientChanged:
    """New values for some of a client's fields."""

    caller: Caller
    client_id: str
    fields: Mapping[str, object] = field(repr=False)
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """What the caller was shown of these fields, where others are not to be undone (`meanwhile`)."""


@immutable(kw_only=True)
class ClientImported:
    """A row of a sheet of clients: a new client or, with `replace`, new values for the one there is."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientRequested:
    """One client, to be shown to an administrator."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientEnabled:
    """A client may authenticate again; nothing that ended comes back."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientDisabled:
    """A client may no longer authenticate, and all its sessions end."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientDeleted:
    """A client is gone for good; its identifier is never given out again."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientSecretReset:
    """A new secret in place of the old one; issued tokens are unaffected.

    `fields` is the JSON object as it came: with `keepOldForSeconds` the old one works on for so long.
    """

    caller: Caller
    client_id: str
    fields: Mapping[str, object] = field(default_factory=dict, repr=False)
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class OldSecretEnded:
    """The old secret that a reset let live on stops working before its time."""

    caller: Caller
    client_id: str


@immutable(kw_only=True)
class ClientSecretUsed:
    """A runtime tells, now and then, when a secret last authenticated; it asks for nothing."""

    client_id: str
    digest: Digest = field(repr=False)
    used_at: Instant


@immutable(kw_only=True)
class WrongSecretsCounted:
    """A runtime tells, now and then, how often a wrong secret of a client came since it told before."""

    client_id: str
    times: int
    last_at: Instant
