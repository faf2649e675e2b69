"""Signing in, the password, recovery, and the first page."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SIGN_IN: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # name: (English, Chinese)
        "sign_in": ("Sign in", "登录"),
        "sign_in_lead": ("Use your account of the administration backend.", "使用您的管理后台账号登录。"),
        "sign_in_stale": (
            "This page was open for too long. Please sign in again.",
            "页面打开时间过久，请重新登录。",
        ),
        "username": ("User name", "用户名"),
        "password": ("Password", "密码"),
        "forgot": ("Forgot your password?", "忘记密码？"),
        "home_signed_in": ("Welcome,", "欢迎，"),
        "home_signed_out": ("Nobody is signed in here", "尚未登录"),
        "home_lead": (
            (
                "This server signs people in to other systems with their account of the administration "
                "backend. The system you came from will bring you to the right page by itself."
            ),
            "本服务让您使用管理后台账号登录其他系统。您所使用的系统会自动引导您到正确的页面。",
        ),
        "change_password": ("Change password", "修改密码"),
        "must_change": (
            "Your password was set by somebody else. Choose your own before you go on.",
            "您的密码由他人设置，请先设置自己的密码。",
        ),
        "password_ends": (
            "Everywhere else you are signed in, you will be signed out.",
            "修改后，您在其他位置的登录都会退出。",
        ),
        "current_password": ("Current password", "当前密码"),
        "new_password": ("New password", "新密码"),
        "new_password_hint": ("8 characters or more", "至少 8 个字符"),
        "new_password_again": ("New password again", "再次输入新密码"),
        "passwords_differ": ("The two new passwords differ.", "两次输入的新密码不一致。"),
        "recover": ("Set a new password", "重设密码"),
        "recover_lead": (
            "We send a code to the telephone number of your account.",
            "我们会向您账号绑定的手机号发送验证码。",
        ),
        "phone": ("Telephone number", "手机号"),
        "send_code": ("Send the code", "发送验证码"),
        "text_code": ("Code from the text message", "短信验证码"),
        "code_sent": (
            "If the number belongs to an account, a code is on its way to it. It is good for 10 minutes.",
            "如果该号码已绑定账号，六位验证码正在发送，十分钟内有效。",
        ),
        "have_code": ("I already have a code", "我已有验证码"),
        "recovered": ("Your new password is set. Sign in with it.", "新密码已设置，请登录。"),
        "back_to_sign_in": ("Back to sign-in", "返回登录"),
    }
)
