"""The form of a person: it offers every role there is."""

import re

from ostiary_core.model.decision import Insert
from ostiary_core.model.records import Role
from tests.web.account.people import with_phone
from tests.web.served import Browser, Served


async def test_a_role_behind_many_others_is_offered_and_ticked(served: Served, browser: Browser) -> None:
    roles = [Role(role_id=f"role{number:03}", name="Some") for number in range(450)]
    served.store.write([Insert(role) for role in roles])
    user_id = await with_phone(served, roleIds=["role449"])
    page = await browser.get(f"/admin/people/{user_id}/edit")
    offered = re.findall(r'<input [^>]*name="roleIds"[^>]*>', page.text)
    assert len(offered) == 451
    assert [box for box in offered if "checked" in box] == [box for box in offered if "role449" in box]
