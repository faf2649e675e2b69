"""What is tried next: who does what, when, and with which mistake. It knows the history and no rule."""
