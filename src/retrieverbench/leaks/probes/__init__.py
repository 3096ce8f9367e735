"""The probes, a file for each family."""
