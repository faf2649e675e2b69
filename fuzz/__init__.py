"""Campaigns that search for violations: sequences, simulation, breakdowns, readers, mutants, faults.

A *step* (`shared.steps`) says who does what at which instant. It names tokens by their origin, so that other
steps can be deleted around it. `shared.meaning` turns a step into a *call* in plain values, which goes to the
core or to the whole server. Two judges check every answer: `model` restates the specification and imports
nothing of the core; the invariants know only what must never happen. docs/proving.md lists the rooms.
"""
