"""Makes the generated code before a build: of the protos, which are in the repository or in the source distribution."""

import pathlib
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))


class GenerateProtos(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before every build of a wheel, also of an editable one."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generates the code of the protos. A source distribution contains the protos instead."""
        if self.target_name == "wheel":
            import generate

            generate.protos()
