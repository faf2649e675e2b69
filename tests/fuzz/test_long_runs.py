"""Long runs go on behind one another and add up."""

from pathlib import Path

from fuzz.long_runs import CAMPAIGNS, Run, next_seed, read_ledger, table


def test_runs_add_up_and_the_next_one_goes_on_behind_them(tmp_path: Path) -> None:
    assert read_ledger(tmp_path / "none") == []
    assert {next_seed([], name) for name in CAMPAIGNS} == {1}
    runs = [
        Run(
            commit=commit,
            date="2026-11-23",
            campaign="simulate",
            seed=seed,
            amount=amount,
            seconds=1_800,
            passed=passed,
        )
        for commit, seed, amount, passed in (
            ("abc", 1, 50, True),
            ("def", 51, 0, False),
            ("fed", 101, 50, True),
        )
    ]
    assert next_seed(runs, "simulate") == 151
    assert next_seed(runs, "crash") == 1
    assert "| `simulate` | 100 seeds | 100,000 | 1 to 150 | 1.5 | 1 | `fed`, 2026-11-23 |" in table(runs)
    assert "| `crash` | 0 kills | 10,000 |  | 0.0 | 0 | not run |" in table(runs)
