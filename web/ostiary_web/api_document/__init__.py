"""Describe the interface: an OpenAPI 3.1 document and the page that shows it, if the setting allows.

What the code declares is taken from there: what handlers return and say, the structs of answers, resources
and their lists, routes and their permissions, the meaning of every refusal, the limits of fields. The rest is
one entry for each operation, and two tests hold all of it to the server: one walks every route, the other
calls every operation with what the document promises to be right and wrong.
"""
