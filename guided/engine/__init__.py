"""Specs (what may be said), `compile`, and the `Index` it returns."""
