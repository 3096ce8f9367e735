"""What was seen of other tenants, judged by our own ledger."""
