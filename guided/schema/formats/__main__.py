"""``python -m guided.schema.formats``: writes the automata of formats that are kept as data."""

from guided.schema.formats import FORMATS
from guided.schema.formats.kept import FOLDER, packed
from guided.schema.languages import of_format


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for name in FORMATS:
        (FOLDER / f"{name}.bin").write_bytes(packed(of_format(name)))


if __name__ == "__main__":
    main()
