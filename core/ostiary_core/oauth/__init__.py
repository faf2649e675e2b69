"""The rules of the protocol: code, session, consent, token service, profile. What administrators do is not
here."""
