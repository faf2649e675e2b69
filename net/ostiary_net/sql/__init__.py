"""What both databases share: columns, pages of lists, schema steps.

Statements of one of them are in its own room.
"""
