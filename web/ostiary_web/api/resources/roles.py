"""Serve `/api/iam/roles` and `/api/iam/permissions`: what users may do."""

from typing import Annotated

from msgspec import Meta

from ostiary_core.model.permissions import Permission
from ostiary_web.api.resources.routes import make_routes
from ostiary_web.application.answer_data import LOCALE_SCHEMA, AnswerData, one_of
from ostiary_web.application.resources.roles import RESOURCE, describe_permission
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

roles = make_routes(RESOURCE)


class DescribedPermission(AnswerData):
    """A permission, with what it allows."""

    code: Annotated[str, one_of(Permission)]
    description: Annotated[
        dict[str, str], Meta(description="By language.", extra_json_schema={"propertyNames": LOCALE_SCHEMA})
    ]


@roles.get("/api/iam/permissions", gate=require_permission(Permission.ROLE_LIST))
async def list_permissions(context: RequestContext) -> list[DescribedPermission]:
    """List all permissions, each described in every language."""
    return [
        DescribedPermission(
            code=permission.value,
            description={
                language.tag: describe_permission(permission, language) for language in context.languages
            },
        )
        for permission in Permission
    ]
