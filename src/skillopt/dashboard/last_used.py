"""What is made once and kept for as long as it is among the last used: readers, followers, channels."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class LastUsed(Generic[_Value]):
    """Keeps values by name, as many as were used last; usable from several threads.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = RLock()
        self._kept: OrderedDict[str, _Value] = OrderedDict()

    def get(self, name: str) -> _Value | None:
        """Return a value, which is used by that; None where it is not kept."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def keep(self, name: str, value: _Value) -> _Value:
        """Keep a value, in the place of another one of its name, and return it."""
        with self._lock:
            self._kept[name] = value
            self._kept.move_to_end(name)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value

    def get_or_make(self, name: str, make: Callable[[], _Value]) -> _Value:
        """Return a value, made where it is not kept; all who ask for a name get the same one."""
        with self._lock:
            kept = self.get(name)
            return self.keep(name, make()) if kept is None else kept
