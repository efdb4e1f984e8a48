"""Why a file does not come."""


class NotFoundError(LookupError):
    """The source has no such file, and asking again will not change that."""


class UnavailableError(RuntimeError):
    """The source cannot give a file now; asking again later may help."""


class RefusedError(RuntimeError):
    """The source refuses, or what it offers is not to be accepted; asking again will not help."""
