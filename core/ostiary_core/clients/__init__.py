"""The rules of clients: their fields, their secrets, and how administrators handle them."""
