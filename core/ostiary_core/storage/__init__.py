"""The port that stores implement, and the reference store in memory. A store that does I/O is not here."""
