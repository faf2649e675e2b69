"""What the rules get from outside: time, entropy, threads, files, hashes, text messages.

No store and no socket.
"""
