"""Mistakes in what is told afterwards: explanations, lists, summaries, a backtest, records as text."""

from typing import Final

from fuzz.faults.planting import mistakes_in

FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.history.explain._last_step",
        (
            *("expired-told-as-running", "a session past its maximum is explained as running"),
            *("now >= session.expires_at", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.storage.session_history.find_inherited_ending",
        (
            *("later-ending-told", "a session is explained by an ending that came after its maximum"),
            *("and entry.at < session.expires_at", ""),
        ),
    ),
    *mistakes_in(
        "ostiary_core.storage.memory_listing._online",
        (
            *("expired-listed-as-online", "a session past its maximum is listed as running"),
            *("is not SessionState.ACTIVE", "is SessionState.ENDED"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.storage.listing.Listing.offset",
        ("page-overlaps", "a page begins with the last item of the one before", "(self.page - 1) * ", ""),
    ),
    *mistakes_in(
        "fuzz.shared.memory_store.ServerMemoryStore.count_entries",
        (
            "entries-counted-twice",
            "summaries count an entry again",
            "entries[-1].number",
            "entries[0].number",
        ),
    ),
    *mistakes_in(
        "ostiary_core.history.backtest_run.BacktestRun._move_to_new_epoch",
        (
            *(
                "backtest-ends-the-changers-session",
                "a backtest ends the session in which a password is changed",
            ),
            *("user.epoch_why in _MADE_IN_A_SESSION", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.storage.json_codec._plain",
        ("text-loses-a-byte", "a record that was text has shorter digests", "value.hex()", "value[1:].hex()"),
    ),
)
