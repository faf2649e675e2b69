"""Shared code of the tests, one module for each subject; code for one folder alone stands in that folder.

asks         events of the core, with defaults for all that a story leaves out
story        given, when, then: a world of the core with a hand-set clock
strategies   any event and record there may be, for Hypothesis
stores       the server's clock, seeded entropy, and every store that a test may run on
served       the application behind its front door, without sockets, and its routes
callers      a program and a browser that call it; the envelope and the API document of its answers
transcripts  files of requests in turn, each with what is shown
outlines     pages, JSON and cookies in the lines of a transcript
people       accounts with telephones or with chosen permissions, and all that one of them has open
connections  the doors of the application, and connections in memory or over pairs of sockets
processes    the command line, a server or a PostgreSQL in a process of its own; ports and certificates
forks        commands in processes that are forked from one which has imported them
browser      the demonstration with Chromium on it, and every page there is
files        pictures and sheets; file systems without hard links
languages    checks of catalogues of texts, and a made-up third language
"""
