"""Golden sets, corpora and manifests: read, checked, never repaired."""
