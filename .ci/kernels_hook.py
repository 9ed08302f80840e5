"""Build hook of hatchling: kernels are compiled while the package is installed from a checkout or a source distribution.

A wheel gets the extension of compiled kernels, and the name of its platform; an editable install gets it beside the sources. Where that
is not possible (another system than Linux, no C compiler, another interpreter), the wheel is one for every platform, and numba compiles
on first use. ``GUIDED_COMPILED_KERNELS=0`` asks for that; with ``1`` the build fails instead, and an extension that exists is not used.
"""

import os
import re
import shlex
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Adds the extension of compiled kernels to a wheel, and the platform to its name."""

    PLUGIN_NAME = "custom"
    _folder: "tempfile.TemporaryDirectory[str] | None" = None

    def dependencies(self) -> list[str]:
        """What the package needs, since the hook runs it; nothing where the hook compiles nothing."""
        return [] if self._obstacle() else list(self.metadata.core.dependencies)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        obstacle = self._obstacle() or self._add(version, build_data)
        if obstacle and os.environ.get("GUIDED_COMPILED_KERNELS") == "1":
            raise RuntimeError(f"kernels cannot be compiled: {obstacle}")
        if obstacle:
            self.app.display_warning(f"kernels are not compiled now, but by numba on first use: {obstacle}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def _obstacle(self) -> str:
        """Why nothing is to be compiled here; empty if it is to be tried."""
        if os.environ.get("GUIDED_COMPILED_KERNELS") == "0":
            return "GUIDED_COMPILED_KERNELS=0"
        # The extension keeps to the stable interface of CPython, which builds without the GIL lack.
        if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return "the interpreter is not CPython with the GIL"
        if shutil.which(compiler := shlex.split(os.environ.get("CC") or "cc")[0]) is None:
            return f"there is no C compiler ({compiler})"
        sys.path.insert(0, self.root)
        from guided.kernels.extension import BuildError, processor

        try:
            processor()
        except BuildError as error:
            return str(error)
        return ""

    def _add(self, version: str, build_data: dict[str, Any]) -> str:
        """Compile the kernels, unless an extension of the same sources exists. Returns why it was not possible, or nothing."""
        from guided.kernels.extension import BuildError, cache_path, count, file_name, path

        try:
            extension = None if os.environ.get("GUIDED_COMPILED_KERNELS") == "1" else path()
            if extension is None:
                from guided.cli.warmup import build_extension

                self._folder = tempfile.TemporaryDirectory()
                extension = cache_path() if version == "editable" else Path(self._folder.name, file_name())
                build_extension(extension, lambda stage: self.app.display_info(f"compiling kernels: {stage}"))
        except (BuildError, ImportError, OSError) as error:
            return str(error)
        self.app.display_info(f"{count(extension)} kernels, {extension.stat().st_size:,} bytes")
        if version != "editable":
            build_data["force_include"][str(extension)] = f"guided/kernels/{file_name()}"
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{_platform(extension.read_bytes())}"
        return ""


def _platform(extension: bytes) -> str:
    """The platform tag: the extension links the C library only, of the versions that its symbols name (PEP 600)."""
    if "CS_GNU_LIBC_VERSION" not in os.confstr_names or not os.confstr("CS_GNU_LIBC_VERSION"):
        return f"linux_{os.uname().machine}"
    minors = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", extension)]
    return f"manylinux_2_{max([17, *minors])}_{os.uname().machine}"
