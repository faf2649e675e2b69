"""What tells of the server: metrics, traces, the log. It changes no answer."""
