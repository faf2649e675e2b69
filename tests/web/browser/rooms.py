"""Every page that somebody can come to, and as whom: what is looked at as a whole."""

from typing import Final, NamedTuple


class Room(NamedTuple):
    """One page."""

    path: str
    username: str | None
    """Who is signed in; None for nobody."""


ROOMS: Final = (
    Room("/", None),
    Room("/login", None),
    Room("/recover", None),
    Room("/recover?code=1", None),
    Room("/", "bob"),
    Room("/sso", "bob"),
    Room("/sso?client_id=nobody", "bob"),
    Room("/password", "bob"),
    Room("/account", "bob"),
    Room("/account/phone", "bob"),
    Room("/account/applications", "bob"),
    Room("/account/sessions", "bob"),
    Room("/admin", "admin"),
    Room("/admin/clients", "admin"),
    Room("/admin/clients/new", "admin"),
    Room("/admin/clients/import", "admin"),
    Room("/admin/clients/demo-shop", "admin"),
    Room("/admin/clients/demo-shop/edit", "admin"),
    Room("/admin/clients/demo-shop/delete", "admin"),
    Room("/admin/clients/demo-shop/reset-secret", "admin"),
    Room("/admin/clients/console", "admin"),
    Room("/admin/people", "admin"),
    Room("/admin/people/new", "admin"),
    Room("/admin/roles", "admin"),
    Room("/admin/roles/new", "admin"),
    Room("/admin/roles/auditor", "admin"),
    Room("/admin/online", "admin"),
    Room("/admin/online/end-all", "admin"),
    Room("/admin/audit", "admin"),
)
"""In an order that changes who is signed in as seldom as can be."""
