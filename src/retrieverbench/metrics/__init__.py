"""Numbers from ids; standard library only."""
