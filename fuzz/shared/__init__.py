"""What every campaign stands on: calls and answers, steps, what was seen of them, invariants, seeds.

Nothing here runs a campaign, and nothing here knows which door a call goes through.
"""
