"""Describe the generic list and record convention from the declaration of a resource."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from ostiary_core.model.why import Why
from ostiary_web.api.resources.routes import MOST_OPTIONS, Deleted, Option
from ostiary_web.api_document.lists import narrowing_parameters, page_parameters
from ostiary_web.api_document.operations import MULTIPART, Body, DescribedOperation, Reply
from ostiary_web.api_document.schemas import FILE, Json, list_of, page_of, set_of, text
from ostiary_web.application.resources import clients
from ostiary_web.application.resources.import_preview import ImportPreview
from ostiary_web.application.resources.import_rows import MOST_HASHED_IN_A_REQUEST, Imported
from ostiary_web.application.resources.imports import ImportRun
from ostiary_web.application.resources.records import MOST_AT_ONCE
from ostiary_web.application.resources.resource import Resource
from ostiary_web.application.resources.sheet_writing import SHEET_MEDIA_TYPE
from ostiary_web.http.zones import ZONE_HEADER

_CHANGING: Final = (
    Why.ALREADY_TAKEN,
    Why.STILL_REFERENCED,
    Why.BUILT_IN_PROTECTED,
    Why.ROLE_PROTECTED,
    Why.LAST_ADMINISTRATOR,
    Why.OWN_ACCOUNT_ALONE,
)
_INVITING: Final = (
    "It invites the new users without a password, who are in `invitations` of the answer; with `send` by "
    "text message to those with a number, if there is a gateway. An import of more than "
    f"{MOST_HASHED_IN_A_REQUEST} passwords, which goes on after its request, is refused with it."
)
SHEET: Final = {200: Reply("The sheet.", FILE, (SHEET_MEDIA_TYPE,))}
ZONE: Final[Json] = {
    "name": ZONE_HEADER,
    "in": "header",
    "required": False,
    "description": "The IANA zone of the sheet's times; one that is not known counts as not given.",
    "schema": str,
}


def convention(
    resource: Resource[Any, Any],
    record: type[Struct],
    new: Body,
    change: Body,
    made: type[Struct] | None = None,
) -> Mapping[str, DescribedOperation]:
    """Return the operations of a resource.

    `record` is the record as shown, `new` and `change` are what is sent, and `made` is the answer for a new
    one if it has more than the record.
    """
    one, path, list_view = record.__name__, resource.path, resource.list_view
    # Roles are power, and are given to users (READINGS 57).
    power = () if resource is clients.RESOURCE else (Why.PROOF_REQUIRED, Why.TOKEN_POWER_MISSING)
    hashing = () if resource.has_password is None else (Why.PASSWORDS_BUSY,)
    options = ("preview",) if resource.has_password is None else ("preview", "invite", "send")
    inviting = "" if resource.has_password is None else f" So does `invite`. {_INVITING}"
    operations = {
        f"GET {path}": DescribedOperation(
            f"list{one}s",
            "A page of the list",
            parameters=tuple(page_parameters(list_view)),
            data=page_of(record),
        ),
        f"POST {path}": DescribedOperation(
            f"create{one}",
            "A new record",
            body=new,
            status=201,
            data=made or record,
            refusals=(*power, *hashing, Why.ALREADY_TAKEN, Why.SUBMITTED_TWICE),
        ),
        f"GET {path}/options": DescribedOperation(
            f"list{one}Options",
            f"What to choose from, at most {MOST_OPTIONS}",
            parameters=tuple(narrowing_parameters(list_view)),
            data=list_of(Option, most=MOST_OPTIONS),
        ),
        f"GET {path}/export": DescribedOperation(
            f"export{one}s",
            "The list as a sheet",
            parameters=(*narrowing_parameters(list_view), ZONE),
            replies=SHEET,
        ),
        f"GET {path}/import-template": DescribedOperation(
            f"show{one}ImportTemplate", "An empty sheet to fill in", replies=SHEET
        ),
        f"POST {path}/import": DescribedOperation(
            f"import{one}s",
            "A sheet of records, all of it or nothing",
            description="A row that changes a record takes the permission "
            f"`{resource.permissions.update.value}` as well.{inviting}",
            body=Body(
                {
                    "file": FILE,
                    "mode": Literal["insert", "upsert"],
                    **dict.fromkeys(options, (Literal["true", "false"], "false")),
                },
                MULTIPART,
            ),
            data=(Imported, ImportPreview),
            begun=None if resource.has_password is None else ImportRun,
            refusals=(*_CHANGING, *power, Why.TOO_MANY_REQUESTS),
        ),
        f"POST {path}/batch-delete": DescribedOperation(
            f"delete{one}s",
            "Delete several records, all of them or none",
            body=Body({"ids": set_of(text(), least=1, most=MOST_AT_ONCE)}),
            data=Deleted,
            refusals=(*_CHANGING, Why.NOT_FOUND),
        ),
        f"GET {path}/{{record_id}}": DescribedOperation(f"show{one}", "One record", data=record),
        f"PUT {path}/{{record_id}}": DescribedOperation(
            f"change{one}",
            "Other values for some fields of a record; what is not sent stays",
            body=change,
            data=record,
            refusals=(*_CHANGING, *power),
        ),
        f"DELETE {path}/{{record_id}}": DescribedOperation(
            f"delete{one}", "Delete a record", refusals=(*_CHANGING, Why.MEDIA_TYPE_UNSUPPORTED)
        ),
    }
    if resource.has_password is not None:
        operations[f"GET {path}/import/{{run_id}}"] = DescribedOperation(
            f"show{one}sImport",
            "How far an import of one's own is that goes on after its request",
            description="One that was refused is answered as its request would have been. It is forgotten "
            "after an hour.",
            data=ImportRun,
            refusals=(*_CHANGING, *power, Why.FIELDS_INVALID),
        )
    if resource.enable is not None:
        operations[f"PUT {path}/{{record_id}}/enabled"] = DescribedOperation(
            f"enable{one}",
            "Enable a record, or disable it and end all that it has open",
            body=Body({"enabled": bool}),
            data=record,
            refusals=(Why.BUILT_IN_PROTECTED, Why.LAST_ADMINISTRATOR),
        )
    return operations
