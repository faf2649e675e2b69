"""The interface for programs: accounts, the token service, and the administration (`resources`).

The pages ask for the same things by the same functions; nothing here knows a page.
"""
