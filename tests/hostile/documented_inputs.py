"""All hostile inputs of the table of docs/hostile_input.md, in its order."""

import documented_atlas  # noqa: F401
import documented_matrices  # noqa: F401
import documented_rest  # noqa: F401
from input_registry import INPUTS

__all__ = ["INPUTS"]
