"""The rules of clients: their fields, their secrets, and how administrators handle them. How a client
authenticates is not here."""
