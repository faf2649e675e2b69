"""What the rules speak of: records, decisions, reasons, secrets, time. No rule is here, and nothing that
loads or stores."""
