"""The experiments of the ToolDec paper and the cost figure of the Outlines paper, on their data with local models.

Read `problems`, `arms` and `scoring` first, then the experiments, one file per subject: `logs` (E1), `calls` (E2, E3), `chains` (E2),
`relations` (E4, E5), `sizes` (E6), `matching` (E7), `trigger` (E8), `paths` (E9). ``python -m benchmarks.tooldec`` runs them.
"""
