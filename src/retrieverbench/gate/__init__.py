"""Numbers, findings and rules become one verdict."""
