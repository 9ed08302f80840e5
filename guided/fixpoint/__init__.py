"""Least fixpoints of monotone systems: `worklist.solve` for whole systems, `tabled.TabledFixpoint` for goals on demand.

A system has variables and, for each variable, a monotone function of the others. The result is the least solution of all equations: a
boolean is true only if a finite derivation proves it, and a set holds only what some derivation adds.

Read `worklist` first, then `tabled`. Neither knows what the variables mean; both count work through a function of the caller.

Public modules: none.
"""
