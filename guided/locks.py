"""Locks that are safe across `os.fork`: a fork waits until no other thread holds one of them.

A child has only the thread that forked. A lock held by another thread would stay locked there forever, and the data it guards may be
inconsistent. So before a fork, the forking thread acquires all locks of this module, and after it they are released in both
processes. A fork therefore waits for the calls that hold them: mostly microseconds, at most the budget of a call.

Invariant: a thread that holds a lock only waits for locks of later ranks. The fork acquires locks in the same order, so nothing deadlocks.
A lock that is created meanwhile makes it start again.

Complexity: a fork acquires each live lock, some microseconds each; otherwise these are plain locks.
"""

import os
import threading
from enum import IntEnum
from typing import Protocol
from weakref import WeakSet

__all__ = ["Rank", "fork_safe", "new_lock"]


class Rank(IntEnum):
    """Order in which locks are acquired; only a fork holds two of one rank."""

    COMPOSITION = 0
    INDEX = 1
    VOCABULARY = 2
    LOADER = 3
    COMPILER = 4
    NOTICE = 5
    DISPLAY = 6


class _Lock(Protocol):
    """A reentrant lock."""

    def acquire(self) -> object:
        """Acquire the lock."""

    def release(self) -> object:
        """Release the lock."""


# Live locks by rank.
_alive: tuple[WeakSet[_Lock], ...] = tuple(WeakSet() for _ in Rank)
# Held while a lock is registered, by a fork only once it holds all others: a thread may register a lock while it holds one.
_registering = threading.Lock()
_forking = threading.Lock()
_held: list[_Lock] = []


def fork_safe(lock: _Lock, rank: Rank) -> None:
    """Make forks wait for a reentrant lock."""
    with _registering:
        _alive[rank].add(lock)


def new_lock(rank: Rank) -> threading.RLock:
    """Return a reentrant lock that forks wait for."""
    lock = threading.RLock()
    fork_safe(lock, rank)
    return lock


def _before_fork() -> None:
    _forking.acquire()
    while True:
        # In order of their ranks.
        with _registering:
            known = [lock for same in _alive for lock in same]
        for lock in known:
            lock.acquire()
            _held.append(lock)
        _registering.acquire()
        acquired = set(map(id, known))
        if all(id(lock) in acquired for same in _alive for lock in same):
            return
        _registering.release()
        _release()


def _after_fork() -> None:
    _release()
    _registering.release()
    _forking.release()


def _release() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
