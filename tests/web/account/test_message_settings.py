"""The settings of text messages: what is allowed, and that a fault never quotes a key."""

from pathlib import Path

import pytest

from ostiary_net.runtime.system import SystemEntropy
from ostiary_net.runtime.text_messages import Gateway, Outbox
from ostiary_web.app import open_delivery
from ostiary_web.settings import SettingError, Settings


def settings(**environment: str) -> Settings:
    return Settings.from_environment(environment)


async def test_without_a_gateway_messages_go_to_the_outbox_in_the_data_folder() -> None:
    chosen = settings(DATA_DIR="/srv/ostiary")
    assert chosen.sms_outbox == Path("/srv/ostiary/sms-outbox.jsonl")
    async with open_delivery(chosen, SystemEntropy()) as delivery:
        assert isinstance(delivery, Outbox)
        assert delivery.path == chosen.sms_outbox
    assert settings(SMS_OUTBOX="/var/log/sms").sms_outbox == Path("/var/log/sms")


@pytest.mark.parametrize("token", ["", "abc.DEF-123_~+/=="])
async def test_with_a_gateway_they_go_there(token: str) -> None:
    chosen = settings(
        SMS_GATEWAY_URL="https://sms.example.com:8443/v1/send?tenant=7", SMS_GATEWAY_TOKEN=token
    )
    assert chosen.sms_gateway_url == "https://sms.example.com:8443/v1/send?tenant=7"
    assert (chosen.sms_gateway_token is None) is (token == "")
    assert "DEF" not in f"{chosen!r} {chosen.sms_gateway_token!r}"
    async with open_delivery(chosen, SystemEntropy()) as delivery:
        assert isinstance(delivery, Gateway)


@pytest.mark.parametrize(
    "environment, named, fault",
    [
        ({"SMS_GATEWAY_URL": "sms.example.com/KEY"}, "SMS_GATEWAY_URL", "no address"),
        ({"SMS_GATEWAY_URL": "ftp://sms.example.com/KEY"}, "SMS_GATEWAY_URL", "no address"),
        ({"SMS_GATEWAY_URL": "https:///KEY"}, "SMS_GATEWAY_URL", "no address"),
        ({"SMS_GATEWAY_URL": "https://sms.example.com:port/KEY"}, "SMS_GATEWAY_URL", "no address"),
        ({"SMS_GATEWAY_URL": "https://短信.example/KEY"}, "SMS_GATEWAY_URL", "no address"),
        ({"SMS_GATEWAY_URL": "https://me:KEY@sms.example.com/"}, "SMS_GATEWAY_URL", "user name or password"),
        ({"SMS_GATEWAY_URL": "https://sms.example.com/ KEY"}, "SMS_GATEWAY_URL", "white space"),
        ({"SMS_GATEWAY_TOKEN": "KEY"}, "SMS_GATEWAY_TOKEN", "without SMS_GATEWAY_URL"),
        (
            {"SMS_GATEWAY_URL": "https://sms.example.com", "SMS_GATEWAY_TOKEN": "KEY\u00e9"},
            "SMS_GATEWAY_TOKEN",
            "Bearer",
        ),
        (
            {"SMS_GATEWAY_URL": "https://sms.example.com", "SMS_GATEWAY_TOKEN": "KEY one"},
            "SMS_GATEWAY_TOKEN",
            "Bearer",
        ),
    ],
)
def test_a_wrong_value_is_named_and_not_quoted(environment: dict[str, str], named: str, fault: str) -> None:
    with pytest.raises(SettingError) as refused:
        settings(**environment)
    message = str(refused.value)
    assert message.startswith(f"{named}: ")
    assert fault in message
    assert "allowed: " in message
    assert "KEY" not in message
