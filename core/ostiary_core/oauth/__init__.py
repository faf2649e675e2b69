"""The rules of the protocol: code, session, consent, token service."""
