"""The whole server in one process, on a simulated clock and scheduler: every failure is one seed.

The real Quart app, the real front door on the real Hypercorn protocol code and the real store run as several
instances over one shared state. Callers speak real HTTP/1.1 through h11 over streams in memory. Nothing here
waits for real time, opens a socket or starts a thread, so the same seed gives the same trace, byte for byte.
"""
