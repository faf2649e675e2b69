"""Races on real processes: twenty at once for one code, and for one refresh token."""
