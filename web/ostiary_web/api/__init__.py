"""The interface for programs: routes that read JSON, ask the application, and answer JSON.

The pages and the command line ask the application by the same functions; nothing here knows a page.
"""
