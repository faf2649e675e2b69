"""Reads a sheet that somebody uploaded in a process of its own: a hostile one costs its own import only."""
