"""When clients were last used, read from the audit trail of any SQL store."""

# ruff: noqa: S608 (only question marks are put into the statement's text)

from collections.abc import Collection

from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import USES
from ostiary_net.sql.paging import Execute

__all__ = ["read_last_used"]


def read_last_used(client_ids: Collection[str], execute: Execute) -> dict[str, Instant]:
    """When each of these clients was last given tokens; clients that never were are left out.

    One statement reads it.

    For each client it goes back through the index of its entries to the first of the kinds that count.
    """
    if not client_ids:
        return {}
    kinds, clients = ", ".join("?" * len(USES)), ", ".join("?" * len(client_ids))
    rows = execute(
        "SELECT client_id, (SELECT a.at FROM audit a WHERE a.client_id = clients.client_id"
        f" AND a.kind IN ({kinds}) ORDER BY a.at DESC LIMIT 1)"
        f" FROM clients WHERE client_id IN ({clients})",
        (*(kind.value for kind in USES), *client_ids),
    )
    return {client_id: Instant(at) for client_id, at in rows if at is not None}
