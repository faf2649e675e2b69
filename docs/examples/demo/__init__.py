"""The whole protocol in a browser: the server with sample data, and a backend that signs in with it."""
