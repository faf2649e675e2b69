"""What the rules are handed from outside: time, entropy, threads, files, hashes, text messages. No store and
no socket."""
