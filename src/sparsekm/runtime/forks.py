"""Work that is shared among forks of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any


def share_among_processes(
    work: Callable[[Any], Any], items: Sequence[Any], n_processes: int
) -> Iterator[Any]:
    """Yield ``work(item)`` of every item in order, computed by a number of forks of this process.

    This is for work that holds the interpreter lock, in a process without threads. The forks have
    the limits of the process. They end with it: each holds only its own end of a pipe, and sending
    fails as soon as the process has ended.
    """
    n_processes = min(n_processes, len(items))
    if n_processes < 2:
        yield from map(work, items)
        return
    context = get_context("fork")
    receivers: list[Connection] = []
    for start in range(n_processes):
        receiver, sender = context.Pipe(duplex=False)
        receivers.append(receiver)
        own = (sender, receivers, work, items[start::n_processes])
        context.Process(target=_send_all, args=own, daemon=True).start()
        sender.close()
    for place in range(len(items)):
        try:
            error, value = receivers[place % n_processes].recv()
        except EOFError:
            raise MemoryError("a worker process died") from None
        if error is not None:
            raise error
        yield value


def _send_all(
    sender: Connection,
    receivers: Sequence[Connection],
    work: Callable[[Any], Any],
    items: Sequence[Any],
) -> None:
    for receiver in receivers:
        receiver.close()
    for item in items:
        try:
            answer = None, work(item)
        except Exception as error:
            answer = error, None
        sender.send(answer)
