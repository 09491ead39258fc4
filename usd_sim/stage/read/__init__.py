"""Reading prims into specs: one module per family."""
