"""What each permission allows, in words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core.model.permissions import Permission
from ostiary_web.api.resources.fields import LocalizedText

DESCRIPTIONS: Final[Mapping[Permission, LocalizedText]] = MappingProxyType(
    {
        Permission.CLIENT_LIST: LocalizedText("See clients and their sessions", "查看客户端及其会话"),
        Permission.CLIENT_CREATE: LocalizedText("Register clients", "注册客户端"),
        Permission.CLIENT_UPDATE: LocalizedText(
            "Change, enable and disable clients, and reset their secrets", "修改、启用、停用客户端及重置密钥"
        ),
        Permission.CLIENT_DELETE: LocalizedText("Delete clients", "删除客户端"),
        Permission.USER_LIST: LocalizedText("See users", "查看用户"),
        Permission.USER_CREATE: LocalizedText("Register users", "创建用户"),
        Permission.USER_UPDATE: LocalizedText(
            "Change, enable and disable users, reset their passwords, force them out",
            "修改、启用、停用用户，重置密码及强制下线",
        ),
        Permission.USER_DELETE: LocalizedText("Delete users", "删除用户"),
        Permission.ROLE_LIST: LocalizedText("See roles and permissions", "查看角色与权限"),
        Permission.ROLE_CREATE: LocalizedText("Create roles", "创建角色"),
        Permission.ROLE_UPDATE: LocalizedText("Change roles", "修改角色"),
        Permission.ROLE_DELETE: LocalizedText("Delete roles", "删除角色"),
        Permission.ONLINE_LIST: LocalizedText(
            "See who is signed in and which sessions run", "查看在线用户与会话"
        ),
        Permission.ONLINE_KILL: LocalizedText("End running sessions", "强制结束会话"),
        Permission.AUDIT_READ: LocalizedText("Read the audit trail", "查看审计记录"),
    }
)
"""Every permission has a row; a test says so."""
