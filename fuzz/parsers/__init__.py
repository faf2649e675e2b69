"""Everything that reads what strangers send, each input judged by an oracle that reads it in another way."""
