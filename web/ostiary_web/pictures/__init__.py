"""Pictures that users upload: their format, their metadata, and those left without an account."""
