"""Races on real processes, and that their judges would notice."""

import json
import os

import pytest

from fuzz.processes.api import Violation
from fuzz.processes.races import RACERS, judge_codes, judge_refreshes, judge_two_agents, run
from fuzz.shared.http_client import Response

REFUSED = Response(400, [], b'{"error": "invalid_grant"}')


def tokens(name: str) -> Response:
    return Response(
        200, [], json.dumps({"access_token": f"access {name}", "refresh_token": f"refresh {name}"}).encode()
    )


def test_races_on_two_workers_come_out_as_they_must(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(int.from_bytes(os.urandom(4)), 24, workers=2, most_seconds=600) == 0
    assert "24 races (code 8, refresh 8, two User-Agents 8), 480 requests" in capsys.readouterr().out


@pytest.mark.parametrize("winners", [0, 2])
def test_a_code_that_nobody_or_two_redeem_is_noticed(winners: int) -> None:
    answers = [("one", tokens(str(each))) for each in range(winners)]
    answers += [("one", REFUSED)] * (RACERS - winners)
    with pytest.raises(Violation, match=f"{winners} of 20"):
        judge_codes(answers)


@pytest.mark.parametrize("odd", [tokens("b"), REFUSED], ids=["a second pair", "a refusal"])
def test_a_refresh_that_is_not_the_same_for_all_is_noticed(odd: Response) -> None:
    with pytest.raises(Violation, match="one User-Agent"):
        judge_refreshes([("one", tokens("a"))] * (RACERS - 1) + [("one", odd)])


@pytest.mark.parametrize("odd", [("one", tokens("b")), ("another", tokens("a"))], ids=["pair", "User-Agent"])
def test_a_second_winner_of_two_user_agents_is_noticed(odd: tuple[str, Response]) -> None:
    with pytest.raises(Violation, match="two User-Agents"):
        judge_two_agents([("one", tokens("a")), ("another", REFUSED), odd])
