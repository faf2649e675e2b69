"""What both databases share: columns, pages of lists, questions of a store, steps of a schema.

No driver enters, and no statement that only one of them knows.
"""
