"""Records, decisions, reasons, secrets and time, of which the rules speak; no rule and no I/O."""
