"""Read an uploaded sheet in a process of its own: a hostile one costs only its own import."""
