"""Build hook of hatchling: a wheel for this platform, with compiled kernels (``make wheel``).

Off by default: HATCH_BUILD_HOOK_ENABLE_CUSTOM=true turns it on. It needs what the package needs, and a C compiler.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Adds the extension of compiled kernels to the wheel, and the platform to its name."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from guided.cli.warmup import build_extension
        from guided.kernels.extension import file_name

        self._folder = tempfile.TemporaryDirectory()
        extension = Path(self._folder.name, file_name())
        n_kernels = build_extension(extension, lambda stage: self.app.display_info(f"compiling kernels: {stage}"))
        self.app.display_info(f"{n_kernels} kernels, {extension.stat().st_size:,} bytes")
        build_data["force_include"][str(extension)] = f"guided/kernels/{file_name()}"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{_platform(extension.read_bytes())}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def _platform(extension: bytes) -> str:
    """The platform tag: the extension links the C library only, of the versions that its symbols name (PEP 600)."""
    minors = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", extension)]
    return f"manylinux_2_{max([17, *minors])}_{os.uname().machine}"
