"""Waiting that can be ended: items of a slow generator, with a call to the listener whenever nothing has come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from rowhop.models import Listen

Item = TypeVar("Item")
EVERY = 0.25  # seconds

_END = object()


def attended(produce: Callable[[], Iterator[Item]], listen: Listen | None) -> Iterator[Item]:
    """The items of `produce()`. With a listener they are made in a thread, and the listener hears "" while it waits.

    A listener that raises ends the waiting at once; the thread closes the generator when its next item has come.
    """
    if listen is None:
        yield from produce()
        return
    box: queue.SimpleQueue[object] = queue.SimpleQueue()
    left = threading.Event()

    def work() -> None:
        items = produce()
        try:
            for item in items:
                if left.is_set():
                    break
                box.put(item)
            box.put(_END)
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            box.put(_Raised(error))
        finally:
            if close := getattr(items, "close", None):
                close()

    threading.Thread(target=work, name="rowhop-model", daemon=True).start()
    try:
        while True:
            try:
                item = box.get(timeout=EVERY)
            except queue.Empty:
                listen("")
                continue
            if item is _END:
                return
            if isinstance(item, _Raised):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        left.set()


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error
