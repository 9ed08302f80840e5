"""Five tasks with guided and six other libraries: the programs of docs/comparison.md. See `benchmarks.migration.__main__`."""
