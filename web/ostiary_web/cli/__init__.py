"""Commands with which an operator works on the records, beside a running server or without one.

They ask for the same events as the interface and are held to the same rules; only permissions are not
asked for (`Operator`). Secrets and drawn passwords are printed once, and no password is an argument, where
every process of the machine could read it.
"""
