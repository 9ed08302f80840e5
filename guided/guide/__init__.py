"""Run-time state over an index: mask, advance, rollback, forced, explain. No torch."""
