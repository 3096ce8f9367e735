"""The artifact and its renderings; no number is computed here."""
