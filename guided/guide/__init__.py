"""Run-time state of one text over an index: mask, advance, rollback, forced bytes, explanations. Does not import torch."""
