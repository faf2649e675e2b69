"""Say where each list lies in the tables of an SQL store.

Its fields are declared by `ostiary_core.storage.listing`. Text in the statements comes from here alone; what
a client asks for is bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ostiary_core.storage.listing import (
    AUDIT,
    CLIENTS,
    DELETED_USERS,
    GRANTS,
    ONLINE_SESSIONS,
    ONLINE_USERS,
    ROLES,
    USERS,
    Listable,
)
from ostiary_net.sql.columns import RowCodec, make_row_codec


@dataclass(frozen=True, slots=True)
class Source:
    """Tables of a list, which of their rows are its items, and where its fields come from."""

    tables: str
    """FROM clause. For a database without statistics, `[[name|other]]` is the index to count by when no
    filter narrows the list, and the one to read all rows by if a filter compares what the first lacks
    (without one, as they lie in the table); `((name))` is the one to check items by without reading them
    whole."""
    base_condition: str
    """Condition that every item meets; may bind the present instant once.

    In it and in the tables, `<now>` is the present instant, and `<name>` the value of the filter `name`."""
    expressions: Mapping[str, str]
    """SQL of the fields that are no columns of their own name."""
    item: RowCodec
    codes: Mapping[str, str] = field(default_factory=dict)
    """Conditions that find the records with a code, by field; `{}` stands for what their codes must meet.

    Few records have any, so they name the index of these as `((name))`, which a planner would leave aside."""

    found_by: frozenset[str] = frozenset()
    """Filters that find few items by an index of their own."""
    counted_with: frozenset[str] = frozenset()
    """Filters that the index to count by serves."""

    of_users: frozenset[str] = frozenset()
    """Fields that are their user's, of the same name there, with an index that is named after them."""

    @property
    def is_one_table(self) -> bool:
        """Whether the items are rows of one table, their fields its columns."""
        return not self.expressions

    def expression(self, field: str) -> str:
        """Return a field of the list as an SQL expression."""
        return self.expressions.get(field, field)


def _source(resource: Listable[Any], tables: str, base_condition: str, **expressions: str) -> Source:
    return Source(tables, base_condition, expressions, make_row_codec(resource.item))


# A session runs as `session.state_of` has it: by its own record and by its client, user and consent. SQLite
# takes the tables of a CROSS JOIN in this order: from the sessions, in the order of one of their indexes; not
# of the one by expiry for this condition's sake, as nearly every session meets it: hence the sum.
_RUNNING: Final = """
    s.ended_at IS NULL AND s.expires_at + 0 > <now>
    AND c.client_id = s.client_id AND c.epoch = s.client_epoch
    AND (s.user_id IS NULL OR (
        u.epoch = s.user_epoch
        AND (s.kind = 'login' OR COALESCE(k.epoch, 0) = s.consent_epoch)
    ))
"""
_SESSIONS: Final = """
    sessions s [[sessions_by_user|sessions_by_start]] CROSS JOIN clients c
    LEFT JOIN users u ((users_standing)) ON u.user_id = s.user_id
    LEFT JOIN consents k ON k.user_id = s.user_id AND k.client_id = s.client_id
"""

# What is remembered and what runs, by client, in one pass over the sessions of a user. The user stands in the
# inmost statements, as SQLite takes no condition of the outer one through two of them.
_GRANTS: Final = f"""
    (SELECT user_id, client_id, sum(running) AS session_count FROM (
        SELECT user_id, client_id, 0 AS running FROM consents
            WHERE user_id = <user_id> AND scopes <> '[]'
        UNION ALL
        SELECT s.user_id, s.client_id, 1 FROM sessions s CROSS JOIN clients c
            LEFT JOIN users u ON u.user_id = s.user_id
            LEFT JOIN consents k ON k.user_id = s.user_id AND k.client_id = s.client_id
            WHERE s.user_id = <user_id> AND s.kind = 'authorization_code' AND {_RUNNING}
    ) AS found GROUP BY user_id, client_id) g
    CROSS JOIN clients c
    LEFT JOIN consents k ON k.user_id = g.user_id AND k.client_id = g.client_id AND k.scopes <> '[]'
"""  # noqa: S608 (constants alone)


def _online(resource: Listable[Any], base_condition: str) -> Source:
    own = (
        *("session_id", "kind", "client_id", "user_id", "scopes", "source", "user_agent", "expires_at"),
        *("label", "access_digest"),
    )
    source = _source(
        resource,
        _SESSIONS,
        base_condition,
        username="u.username",
        name="u.name",
        signed_in_at="s.started_at",
        last_seen_at="COALESCE(s.rotated_at, s.started_at)",
        **{column: f"s.{column}" for column in own},
    )
    of_users = frozenset({"username", "name"})
    return replace(
        source,
        found_by=of_users | {"client_id", "session_id", "user_id"},
        counted_with=of_users | {"user_id", "kind"},
        of_users=of_users,
    )


SOURCES: Final[Mapping[str, Source]] = {
    CLIENTS.name: replace(
        _source(CLIENTS, "clients [[clients_by_id|]]", "deleted_at IS NULL"),
        counted_with=frozenset({"client_id", "enabled"}),
    ),
    USERS.name: replace(
        _source(USERS, "users [[users_by_username|]]", "deleted_at IS NULL"),
        found_by=frozenset({"user_id", "role_ids"}),
        counted_with=frozenset({"username", "enabled"}),
        codes={
            "role_ids": "user_id IN (SELECT user_id FROM users ((users_with_roles))"
            " WHERE deleted_at IS NULL AND role_ids <> '[]' AND {})"
        },
    ),
    DELETED_USERS.name: _source(DELETED_USERS, "users", "deleted_at IS NOT NULL"),
    ROLES.name: _source(ROLES, "roles", "1 = 1"),
    ONLINE_SESSIONS.name: _online(ONLINE_SESSIONS, _RUNNING),
    ONLINE_USERS.name: _online(ONLINE_USERS, f"{_RUNNING} AND s.user_id IS NOT NULL"),
    AUDIT.name: replace(
        _source(AUDIT, "audit", "1 = 1"), found_by=frozenset(AUDIT.filters.keys() - {"source", "why"})
    ),
    GRANTS.name: _source(
        GRANTS,
        _GRANTS,
        "c.client_id = g.client_id AND c.deleted_at IS NULL",
        user_id="g.user_id",
        client_id="g.client_id",
        client_name="c.name",
        scopes="COALESCE(k.scopes, '[]')",
        granted_at="k.granted_at",
        session_count="g.session_count",
    ),
}
"""Lists by name."""
