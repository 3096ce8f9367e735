"""Texts into vectors, with a cache on disk."""
