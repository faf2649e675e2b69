"""Foundations of every campaign: calls and answers, steps, the history, invariants, seeds.

Nothing here runs a campaign, and nothing here depends on the door through which a call goes.
"""
