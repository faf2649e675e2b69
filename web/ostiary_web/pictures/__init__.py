"""Pictures that users upload: their format, their metadata, and files without an account."""
