"""Campaigns over the core alone: random sequences and exploration, judged by model and invariants."""
