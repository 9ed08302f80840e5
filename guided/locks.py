"""Locks that a forked child can use: `os.fork` waits until no other thread is within one of them.

A child has only the thread that forked. A lock that another thread held stays locked for ever there, and what the lock guards may be half
written. So before a fork all locks of this module are acquired, by the thread that forks, and after it they are released in both
processes. A fork therefore waits for the calls that hold them: mostly microseconds, and a call's budget at most.

Order: a thread that holds a lock may only wait for locks of later ranks, and makes none. The fork acquires them in the same order, so
nothing deadlocks.

Complexity: a fork acquires each lock that is alive, some microseconds each; otherwise these are plain locks.
"""

import os
import threading
from enum import IntEnum
from typing import Protocol
from weakref import WeakSet

__all__ = ["Rank", "fork_safe", "new_lock"]


class Rank(IntEnum):
    """In which order locks are acquired: those of one rank are never held together, except by a fork."""

    INDEX = 0
    VOCABULARY = 1
    COMPILER = 2
    NOTICE = 3
    DISPLAY = 4


class _Lock(Protocol):
    """A reentrant lock."""

    def acquire(self) -> object:
        """Wait for it."""

    def release(self) -> object:
        """Give it back."""


# By rank.
_alive: tuple[WeakSet[_Lock], ...] = tuple(WeakSet() for _ in Rank)
# Held while a lock is registered, and during a fork.
_registering = threading.Lock()
_held: list[_Lock] = []


def fork_safe(lock: _Lock, rank: Rank) -> None:
    """Have forks wait for a reentrant lock."""
    with _registering:
        _alive[rank].add(lock)


def new_lock(rank: Rank) -> threading.RLock:
    """A reentrant lock that forks wait for."""
    lock = threading.RLock()
    fork_safe(lock, rank)
    return lock


def _before_fork() -> None:
    _registering.acquire()
    for same in _alive:
        for lock in same:
            lock.acquire()
            _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    _registering.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
