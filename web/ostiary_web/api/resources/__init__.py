"""The backend's resources: the generic list and record convention, once, and what follows it.

A resource is declared (`resource`): its fields, how they are listed and what a sheet says of them, its
permissions and the events that change it. The routes follow (`routes`), each behind the gate of the
permission that its action takes (`http/gate`).
"""
