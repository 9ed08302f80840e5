"""Reports about a schema: the treatment of each keyword (`keywords`), and the enforced constraints as rules (`rules`)."""
