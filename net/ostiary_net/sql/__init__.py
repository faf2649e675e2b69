"""Hold what both databases share: columns, pages of lists, queries of a store, steps of a schema.

No driver enters, and no statement that only one of them knows.
"""
