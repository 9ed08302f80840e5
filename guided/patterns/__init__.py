"""Regular expression text -> immutable tree over sets of characters."""
