"""What a backend's author runs against an adapter."""
