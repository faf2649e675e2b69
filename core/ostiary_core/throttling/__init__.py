"""What one process counts in its memory: requests by address, and guesses. Nothing of it is stored."""
