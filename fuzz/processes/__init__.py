"""Campaigns with real processes: `ostiary serve` on a real file, real sockets and real signals.

Nothing here is simulated, and no run repeats to the byte. A seed decides what is asked and when processes are
killed; the machine decides what that interrupts.
"""
