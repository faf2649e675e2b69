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
    Room("/admin/clients/demo-shop/disable", "admin"),
    Room("/admin/clients/demo-shop/force-out", "admin"),
    Room("/admin/clients/demo-shop/reset-secret", "admin"),
    Room("/admin/clients/console", "admin"),
    Room("/admin/people", "admin"),
    Room("/admin/people/new", "admin"),
    Room("/admin/people/import", "admin"),
    Room("/admin/roles", "admin"),
    Room("/admin/roles/new", "admin"),
    Room("/admin/roles/import", "admin"),
    Room("/admin/roles/auditor", "admin"),
    Room("/admin/roles/auditor/edit", "admin"),
    Room("/admin/roles/auditor/delete", "admin"),
    Room("/admin/online", "admin"),
    Room("/admin/online/end-all", "admin"),
    Room("/admin/audit", "admin"),
)
"""In an order that changes who is signed in as seldom as can be."""
NO_ROOMS: Final = (
    *("/language", "/brand/<name>"),  # lead back, and are a picture
    *("/admin/people/<item_id>", "/admin/people/import/<run_id>", "/admin/audit/sessions/<session_id>"),
    *("/account/applications/<client_id>/withdraw", "/admin/clients/<item_id>/end-old-secret"),
    "/admin/online/end",
)
"""Routes whose address is drawn or whose page is there only at times, with all below them; other tests open
them. Sheets are no pages."""
