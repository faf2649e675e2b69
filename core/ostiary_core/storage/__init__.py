"""The port that stores implement, and the reference store in memory; no store that does I/O."""
