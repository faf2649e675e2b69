"""The resources of the administration: declared fields, lists, sheets, imports and exports.

Routes, pages and commands follow from these declarations.
"""
