"""The addresses of the generic convention: a word that is one is no record's identifier."""

import pytest

from tests.web.envelopes import refused
from tests.web.served import Served


@pytest.mark.parametrize("resource", ["/api/iam/users", "/api/iam/roles", "/api/oauth/clients"])
async def test_addresses_beside_the_records_name_only_what_they_can_do(served: Served, resource: str) -> None:
    root = await served.administrator()
    for word in ("options", "export", "import-template"):
        refusal = await root.call("DELETE", f"{resource}/{word}")
        refused(refusal, 405, "A0405")
        assert set(refusal.headers["allow"].split(", ")) == {"GET", "HEAD"}
    for word in ("import", "batch-delete"):
        refusal = await root.call("PUT", f"{resource}/{word}", {})
        refused(refusal, 405, "A0405")
        assert refusal.headers["allow"] == "POST"
    refused(await root.call("DELETE", f"{resource}/options-of-mine"), 404, "A0404")
