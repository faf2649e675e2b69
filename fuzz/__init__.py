"""What must hold whatever happens: random sequences, exhaustive exploration, planted faults.

One file, one duty. A *step* (`steps`) says who does what at which instant, in references that survive the
deletion of other steps; `history` turns it into a *call* in plain values (`calls`); `driver` puts that to
the core and gives the answer back in the specification's words. Two judges look at every answer: `model`,
which restates the specification and imports nothing of the core, and `invariants`, which knows only what
must never happen.
"""
