"""Mutants of a module are made and judged, and a judge that notices nothing is reported."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from fuzz.command_line import main
from fuzz.mutants.campaign import SURVIVORS, ask_in_order, judge_mutants, read_survivors
from fuzz.mutants.judges import Judge, try_judges
from fuzz.mutants.mutations import Key, Mutant, mutants_of
from fuzz.mutants.planting import list_calls_of_imports
from fuzz.mutants.rooms import ROOMS, modules_of
from fuzz.shared.campaign import Report, add_up
from ostiary_core.http import answer
from ostiary_core.oauth.parameters import is_beyond, is_challenge, narrow_scopes, parse_scope, proves
from ostiary_core.throttling import rate_windows
from tests.support.asks import CHALLENGE, VERIFIER, challenge_of

PARAMETERS = "ostiary_core.oauth.parameters"
HOMES = {PARAMETERS: "oauth", rate_windows.__name__: "throttling"}


def judge_all(mutants: Sequence[Mutant], listed: dict[Key, str], *notices: Callable[[], bool]) -> Report:
    judges = [Judge(f"judge {number}", notice) for number, notice in enumerate(notices)]
    tried = try_judges(judges, [PARAMETERS], 2)
    return add_up(judge_mutants(mutants, tried, listed, HOMES), most_failures=len(mutants) + 1)


def sees_parameters() -> bool:
    """Look at the module's results."""
    is_right = proves(VERIFIER, CHALLENGE) and is_challenge(CHALLENGE)
    wrong = (VERIFIER[:42], f"{VERIFIER[:42]}!")
    is_right &= parse_scope("b a  b") == ("b", "a") and is_beyond(("a", "b"), ("a",))
    is_right &= narrow_scopes(("b",), ("a", "b")) == ("b",) and narrow_scopes(None, ("a",)) == ("a",)
    return not is_right or any(proves(each, challenge_of(each)) for each in wrong) or is_challenge("x")


def test_a_sharp_judge_kills_what_a_blind_one_lets_live(capsys: pytest.CaptureFixture[str]) -> None:
    mutants = mutants_of(PARAMETERS)
    assert len(mutants) > 3
    sharp = judge_all(mutants, {}, sees_parameters)
    blind = judge_all(mutants, {}, lambda: False)
    assert sharp.tables["killed"].total() > len(mutants) / 2
    in_functions = sum(bool(mutant.function) for mutant in mutants)
    assert blind.tables["survived"].total() >= in_functions
    assert blind.stories == [], "survivors fail a run by their share of a room alone"
    assert capsys.readouterr().out.count("SURVIVED ostiary_core.oauth.parameters") >= in_functions


def test_a_listed_mutant_may_survive_and_not_be_killed() -> None:
    mutant = next(each for each in mutants_of(PARAMETERS) if each.kind == "comparison")
    listed = {mutant.key: "whoever asks cannot tell"}
    held = judge_all([mutant], listed, lambda: False)
    assert (held.tables["listed"].total(), held.stories) == (1, [])
    killed = judge_all([mutant], listed, sees_parameters)
    assert (killed.tables["killed"].total(), len(killed.stories)) == (1, 1)


def test_only_judges_that_reach_a_statement_are_asked_and_one_that_hangs_is_ended() -> None:
    window = [each for each in mutants_of(rate_windows.__name__) if each.function]
    reached = frozenset((window[0].module, each.statement) for each in window)
    told = add_up(judge_mutants(window[:1], [Judge("who hangs", hang, reached)], {}, HOMES), most_failures=2)
    assert told.tables["killed"].total() == 1
    leaving, listed = Judge("who leaves", partial(os._exit, 0), reached), {window[0].key: "it is the same"}
    told = add_up(judge_mutants(window[:1], [leaving], listed, HOMES), most_failures=2)
    assert (told.tables["listed"].total(), told.stories) == (1, []), "a busy machine ends judges as well"
    unreached = add_up(judge_mutants(window[:1], [Judge("elsewhere", hang)], {}, HOMES), most_failures=2)
    assert unreached.tables["survived"].total() == 1


def hang() -> bool:
    while True:
        pass


def test_mutants_have_keys_of_their_own_that_no_line_number_is_part_of() -> None:
    modules = (*modules_of(ROOMS["users"]), *modules_of(ROOMS["throttling"]))
    mutants = [mutant for module in modules for mutant in mutants_of(module)]
    assert max(Counter(mutant.key for mutant in mutants).values()) == 1
    assert {mutant.kind for mutant in mutants} == {
        *("boundary", "comparison", "condition", "constant", "field"),
        *("arguments", "guard", "operator", "statement", "swap", "unit", "write"),
    }
    # `Headers` beside this constant is a type alias, which nothing runs.
    constants = [mutant for mutant in mutants_of(answer.__name__) if not mutant.function]
    assert {mutant.text.partition("(")[0] for mutant in constants} == {"json.JSONEncoder", "False → True"}


@pytest.mark.parametrize(
    "module, change",
    [
        ("ostiary_web.cli.sweep", "unit: context.settings.retention_audit_days * DAY_SECONDS → "),
        ("ostiary_net.sql.summaries", "filter: a statement without 'AND hour >= ?'"),
        ("ostiary_net.sql.summaries", "order: _add_tallies(execute, tallies) after the next one"),
        ("ostiary_net.runtime.text_messages", "deadline: "),
        ("ostiary_net.turns.turns", "swap: the values of 'write' and 'read' swapped"),
    ],
)
def test_a_unit_a_condition_an_order_a_deadline_and_a_key_can_be_lost(module: str, change: str) -> None:
    assert any(change in str(mutant) for mutant in mutants_of(module))


def test_functions_that_run_at_import_are_separated_from_those_that_run_later() -> None:
    at_import = {function for _, function in list_calls_of_imports(["ostiary_core.storage.listing"])}
    assert "make_listable" in at_import
    assert not at_import & {"contained_text", "fold_ascii"}


def test_every_listed_mutant_is_one_and_has_its_reason() -> None:
    listed = read_survivors()
    mutants = {mutant.key for module in {key[0] for key in listed} for mutant in mutants_of(module)}
    assert listed.keys() <= mutants, f"say it anew in {SURVIVORS.name}: {listed.keys() - mutants}"
    assert all(len(reason) > 10 for reason in listed.values())
    # Elsewhere swapped arguments are left to the type checker.
    assert all(key[0].startswith("ostiary_core.") for key in listed if key[2] == "arguments")


def test_a_judge_that_noticed_other_mutants_of_the_function_or_many_of_the_module_is_asked_first() -> None:
    mutant = next(each for each in mutants_of(PARAMETERS) if each.function)
    reached = frozenset([(PARAMETERS, mutant.statement)])
    judges = [Judge(name, hang, reached, seconds) for name, seconds in (("quick", 1), ("slow", 2))]
    for noticed, first in (
        ([], "quick"),
        ([(mutant.function, "slow")], "slow"),
        ([("another", "slow")], "quick"),
        ([("another", "slow")] * 2, "slow"),
    ):
        assert ask_in_order(mutant, judges, noticed)[0].name == first


def test_every_room_has_modules_and_tests_that_are_there_and_no_module_is_in_two() -> None:
    modules = [module for room in ROOMS.values() for module in modules_of(room)]
    assert len(modules) == len(set(modules))
    assert all(modules_of(room) for room in ROOMS.values())
    for path, _, name in (each.partition("::") for room in ROOMS.values() for each in room.tests):
        assert Path(path).exists(), path
        assert not name or f"def {name}(" in Path(path).read_text(encoding="utf-8"), name
    assert [name for name, room in ROOMS.items() if room.holds(PARAMETERS)] == ["oauth"]
    assert [name for name, room in ROOMS.items() if room.holds("ostiary_net.sql.paging")] == ["sqlite"]


def test_an_unknown_room_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "--room", "attic"]) == 2
    assert "--room: no room 'attic'; there are oauth, " in capsys.readouterr().err
