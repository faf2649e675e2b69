"""The address that a request comes from: the fields of trusted proxies are believed (READINGS 30)."""

import ipaddress

import pytest
from hypothesis import given, strategies as st

from ostiary_net.front_door.source import LOCAL, find_source, is_trusted
from tests.net.front_door.conftest import OpenDoor

PROXIES = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8:ff::/48"))
ADDRESSES = st.ip_addresses().map(str).map(str.encode)


@pytest.mark.parametrize(
    "peer, forwarded_for, source",
    [
        pytest.param("192.0.2.9", [], "192.0.2.9", id="nobody between"),
        pytest.param("192.0.2.9", [b"6.6.6.6"], "192.0.2.9", id="a stranger's word"),
        pytest.param("10.0.0.1", [], "10.0.0.1", id="a proxy that says nothing"),
        pytest.param("10.0.0.1", [b"192.0.2.7"], "192.0.2.7", id="one proxy"),
        pytest.param("10.0.0.1", [b"192.0.2.7, 10.9.9.9"], "192.0.2.7", id="two proxies"),
        pytest.param("10.0.0.1", [b"192.0.2.7", b"10.9.9.9"], "192.0.2.7", id="two fields"),
        pytest.param("10.0.0.1", [b"6.6.6.6, 192.0.2.7, 10.9.9.9"], "192.0.2.7", id="forged in front"),
        pytest.param("10.0.0.1", [b"10.1.1.1, 10.2.2.2"], "10.1.1.1", id="all of them proxies"),
        pytest.param("10.0.0.1", [b"192.0.2.7:4711"], "192.0.2.7", id="with a port"),
        pytest.param("10.0.0.1", [b"2001:db8::7"], "2001:db8::7", id="IPv6"),
        pytest.param("10.0.0.1", [b"[2001:db8::7]"], "2001:db8::7", id="IPv6 in brackets"),
        pytest.param("10.0.0.1", [b"[2001:db8::7]:4711"], "2001:db8::7", id="IPv6 with a port"),
        pytest.param("10.0.0.1", [b'"[2001:db8::7]:4711"'], "2001:db8::7", id="quoted"),
        pytest.param("10.0.0.1", [b"fe80::1%eth0"], "fe80::1", id="zone"),
        pytest.param("10.0.0.1", [b"2001:0DB8:0::07"], "2001:db8::7", id="one spelling"),
        pytest.param("10.0.0.1", [b"192.0.2.7, unknown"], "10.0.0.1", id="no address"),
        pytest.param("10.0.0.1", [b"192.0.2.7, unknown, 10.3.3.3"], "10.3.3.3", id="a proxy's no address"),
        pytest.param("10.0.0.1", [b"192.0.2.7:x"], "10.0.0.1", id="a port that is none"),
        pytest.param("10.0.0.1", [b"[2001:db8::7"], "10.0.0.1", id="half a bracket"),
        pytest.param("10.0.0.1", [b"192.0.2.7, \xff"], "10.0.0.1", id="not ASCII"),
        pytest.param("10.0.0.1", [b" , ,192.0.2.7, ,"], "192.0.2.7", id="empty entries"),
        pytest.param("2001:db8:ff::1", [b"192.0.2.7"], "192.0.2.7", id="a proxy on IPv6"),
        pytest.param("::ffff:10.0.0.1", [b"192.0.2.7"], "192.0.2.7", id="a proxy mapped into IPv6"),
        pytest.param("::ffff:192.0.2.9", [b"6.6.6.6"], "192.0.2.9", id="a stranger mapped into IPv6"),
        pytest.param(None, [b"192.0.2.7"], "192.0.2.7", id="a proxy on a Unix socket"),
        pytest.param(None, [], LOCAL, id="a Unix socket"),
    ],
)
def test_the_source_is_the_last_untrusted_address(
    peer: str | None, forwarded_for: list[bytes], source: str
) -> None:
    assert find_source(peer, forwarded_for, PROXIES) == source


@pytest.mark.parametrize("peer, source", [("10.0.0.1", "10.0.0.1"), (None, LOCAL)])
def test_without_the_setting_the_field_is_ignored(peer: str | None, source: str) -> None:
    assert find_source(peer, [b"192.0.2.7"], ()) == source
    assert not is_trusted(peer, ())


@given(forged=st.lists(st.binary(max_size=30), max_size=4), client=ADDRESSES)
def test_nothing_that_a_client_writes_changes_its_source(forged: list[bytes], client: bytes) -> None:
    honest = find_source("10.0.0.1", [client], ())
    through_proxy = find_source("10.0.0.1", [client], PROXIES)
    if is_trusted(client.decode(), PROXIES):
        return
    assert find_source("10.0.0.1", [*forged, client], PROXIES) == through_proxy != honest


async def test_a_trusted_proxy_alone_names_scheme_and_host(bare: object, open_door: OpenDoor) -> None:
    ask = (
        b"GET /source HTTP/1.1\r\nHost: inside\r\nX-Forwarded-For: 192.0.2.7\r\n"
        b"X-Forwarded-Proto: https\r\nX-Forwarded-Host: id.example.com\r\n\r\n"
    )
    trusting = await open_door(bare, trusted_proxies=(ipaddress.ip_network("127.0.0.1"),))
    assert (await trusting.ask(ask)).endswith(b"192.0.2.7 https id.example.com")
    strict = await open_door(bare, trusted_proxies=PROXIES)
    assert (await strict.ask(ask)).endswith(b"127.0.0.1 http inside")


async def test_a_forwarded_host_that_is_none_is_refused(bare: object, open_door: OpenDoor) -> None:
    door = await open_door(bare, trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),))
    heard = await door.ask(b"GET / HTTP/1.1\r\nHost: inside\r\nX-Forwarded-Host: a..b\r\n\r\n", 5)
    assert heard.startswith(b"HTTP/1.1 400")
