"""The rules of the protocol: code, session, consent, token service. What administrators do is not
here."""
