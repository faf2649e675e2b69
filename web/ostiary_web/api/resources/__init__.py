"""Routes of resources: the generic list and record convention.

The routes follow from what `application/resources` declares, each behind the gate of the permission that its
action takes (`http/gate`).
"""
