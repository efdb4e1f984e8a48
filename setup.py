"""Puts the workflow into the wheel, so that `sparsekm run` works without a checkout.

Everything else about the package stands in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PARTS = ("config.yaml", "workflow", "scripts", "envs", "profiles", "data/paper")


class BuildWithWorkflow(build_py):
    """Copies the workflow to where the installed package looks for it."""

    def run(self):
        """Build the package, then copy; an editable package is beside the workflow already."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "sparsekm" / "_workflow"
        for part in PARTS:
            source = ROOT / part
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".*")
                shutil.copytree(source, target / part, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy(source, target / part)


setup(cmdclass={"build_py": BuildWithWorkflow})
