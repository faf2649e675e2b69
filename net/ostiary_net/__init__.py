"""The machine room of Ostiary: Trio, storage, sockets, clock, entropy, processes. No rule enters."""
