"""Jobs that start in no time, for Snakemake's ``--executor sparsekm``.

Starting Python and importing would be two thirds of a small run. Here a process of one thread that
has imported everything forks a child for each script that asks for one thread; all other jobs start
as Snakemake starts them. It finds the plugin by the name of this package, next to `sparsekm`.

Every Snakemake in the environment imports this package, whatever its version and its workflow. So
only Snakemake's public interface is imported here, and the rest when the executor is chosen.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import version

from snakemake_interface_executor_plugins.executors.base import AbstractExecutor
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_executor_plugins.settings import CommonSettings

KNOWN = "9."
"""The beginning of the versions of Snakemake that the two plugins know."""
# As of the executor `local`: no jobs elsewhere, no lack of a shared disk, no sources to send.
common_settings = CommonSettings(False, False, False, auto_deploy_default_storage_provider=False)


class Executor(AbstractExecutor):
    """Makes an executor that forks or, where that cannot be, Snakemake's executor `local`."""

    def __new__(cls, workflow, logger):
        """Choose the executor for this system and this version of Snakemake."""
        found = version("snakemake")
        # On other systems, forks are unsafe.
        if sys.platform == "linux":
            with suppress(ImportError):
                if found.startswith(KNOWN):
                    from snakemake_executor_plugin_sparsekm.forks import ForkingExecutor

                    return ForkingExecutor(workflow, logger)
            told = f"The executor sparsekm does not know Snakemake {found}; jobs run with `local`."
            print(told, file=sys.stderr)
        return ExecutorPluginRegistry().get_plugin("local").executor(workflow, logger)
