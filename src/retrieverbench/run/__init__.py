"""Open targets, ask every case, collect what came back."""
