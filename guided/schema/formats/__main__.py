"""``python -m guided.schema.formats``: write the automata of formats that are stored as data."""

from guided.files import replace_file
from guided.schema.formats import FORMATS
from guided.schema.formats.stored import FOLDER, packed
from guided.schema.strings.languages import of_format


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for name in FORMATS:
        replace_file(FOLDER / f"{name}.bin", [packed(of_format(name))])


if __name__ == "__main__":
    main()
