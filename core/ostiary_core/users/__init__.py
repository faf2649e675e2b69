"""The rules of accounts, roles and running sessions, as their owners and as administrators handle them. No
password is hashed here, and no message sent."""
