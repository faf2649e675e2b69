"""What must hold whatever happens: sequences, simulation, breakdowns, readers, mutants, planted faults.

A *step* (`shared.steps`) says who does what at which instant, in references that survive the deletion of
others; `shared.meaning` turns it into a *call* in plain values, which the core or the whole server is asked.
Two judges look at every answer: `model`, which restates the specification and imports nothing of the core,
and the invariants, which know only what must never happen. docs/proving.md lists the rooms.
"""
