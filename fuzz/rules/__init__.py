"""Campaigns over the core alone: random sequences and kept traces, judged by model and invariants."""
