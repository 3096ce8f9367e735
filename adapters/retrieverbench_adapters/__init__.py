"""One backend, one file. Adapters know the protocol and nothing of one another."""
