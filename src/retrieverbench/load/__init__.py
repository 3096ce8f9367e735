"""Latency and throughput."""
