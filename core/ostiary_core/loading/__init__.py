"""What an event needs to know: the keys it names, and the snapshot of the records behind them. No rule
decides here."""
