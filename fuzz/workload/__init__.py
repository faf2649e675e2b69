"""Generate the next steps: who does what, when, and with which mistake, by the history and no rule."""
