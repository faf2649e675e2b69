"""What every face asks for: the interface for programs, the pages and the command line.

Each function does one thing for one caller and returns a value. No routes are here, and nothing knows a face.
"""
