"""Resources of the backend: the generic list and record convention.

A resource is declared (`resource`): its fields, how they are listed and what a sheet says of them, its
permissions and the events that change it. The routes follow (`routes`), each behind the gate of the
permission that its action takes (`http/gate`).
"""
