"""Specs (output constraints), `compile`, and the `Index` it returns."""
