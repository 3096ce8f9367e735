"""Quality, latency and cross-tenant leakage of retrievers, measured in one run."""
