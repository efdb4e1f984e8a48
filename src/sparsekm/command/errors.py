"""What ends the command with one line."""


class CommandError(Exception):
    """The command cannot go on; the message says why and what to do."""
