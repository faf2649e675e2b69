"""What tests share, a module a subject; a thing that one folder alone needs stands in that folder.

asks         events of the core, complete, with what a story does not speak of filled in
story        given, when, then: a world of the core with a hand-set clock
strategies   any event and record there may be, for Hypothesis
stores       the server's clock, seeded entropy, and every store that a test may run on
served       the application behind its front door, without sockets, and its routes
callers      who asks it: a program, a browser; the envelope and the API document that answers are held to
people       accounts with telephones or with chosen permissions, and all that one of them has open
connections  the doors it is reached through, and connections in memory or over pairs of sockets
processes    the command line, a server or a PostgreSQL in a process of its own; ports and certificates
forks        what of them runs in the process that those of commands are forked from
browser      the demonstration with Chromium on it, and every page there is
files        pictures and sheets; file systems without hard links
languages    what catalogues of texts must have, and a third language
"""
