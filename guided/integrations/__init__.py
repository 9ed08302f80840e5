"""Adapters to serving stacks; each module is the only importer of its stack."""
