"""The keys that an event names, and the snapshot of the records behind them; no rule decides here."""
