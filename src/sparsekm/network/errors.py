"""Errors of downloads."""


class NotFoundError(LookupError):
    """The source has no such file; retrying will not help."""


class UnavailableError(RuntimeError):
    """The source cannot deliver a file now; retrying later may help."""


class RefusedError(RuntimeError):
    """The source refuses the request, or its answer is unacceptable; retrying will not help."""
