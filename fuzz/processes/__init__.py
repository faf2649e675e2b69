"""The real thing, killed: `ostiary serve` as processes, on a real file, with real sockets and real signals.

Nothing here is simulated and nothing is repeatable to the byte. A seed decides what is asked and when the
killing falls; the machine decides what that meets.
"""
