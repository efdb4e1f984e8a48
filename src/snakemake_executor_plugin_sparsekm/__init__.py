"""Jobs that start immediately, for Snakemake's ``--executor sparsekm``.

Starting Python and importing would take two thirds of a small run. Here a single-threaded process
that has imported everything forks a child for each script that asks for one thread; Snakemake
starts all other jobs. It finds the plugin by the name of this package, next to `sparsekm`.

Every Snakemake in the environment imports this package, in any version and for any workflow.
Therefore only Snakemake's public interface is imported here, and the rest when the executor is
chosen.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import version

from snakemake_interface_executor_plugins.executors.base import AbstractExecutor
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_executor_plugins.settings import CommonSettings

KNOWN = "9."
"""The prefixes of the versions of Snakemake that the two plugins know."""
# As for the executor `local`: jobs run here, disks are shared, and sources are not sent.
common_settings = CommonSettings(False, False, False, auto_deploy_default_storage_provider=False)


class Executor(AbstractExecutor):
    """Makes an executor that forks or, if this is impossible, Snakemake's executor `local`."""

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
