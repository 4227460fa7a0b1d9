"""The thread beside a watch: takes changes in once they pause, walks now and then, tells others.

No answer depends on it: it only does early what the next refresh would do.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recall.disk import heartbeat
from recall.disk.heartbeat import Heartbeat

if TYPE_CHECKING:
    from recall.disk.watch import Watch

log = logging.getLogger("recall.watch")

QUIET_S, LONGEST_S = 0.2, 2.0
"""Changes are taken in once they pause so long, or after so long anyway."""
_JOIN_S = 1.0


class Keeper:
    """Runs from its making until `close`, or until nobody holds the store any more."""

    def __init__(self, folder: str, watch: Watch, refresh: Callable[..., object]) -> None:
        """`folder` takes the heartbeat; `refresh`, a method of the store, is held weakly."""
        self._watch = watch
        self._refresh = weakref.WeakMethod(refresh)
        heartbeat.sweep(folder)
        self._heart = Heartbeat(folder)
        self._beat_at = 0.0
        self._stirred = False
        self._closed = threading.Event()
        self._waking = threading.Lock()
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_r, False)
        os.set_blocking(self._wake_w, False)
        self.thread = threading.Thread(target=self._run, name="recall watch", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the thread; a refresh that it is at is waited for a second at most."""
        self._closed.set()
        self.wake()
        if threading.current_thread() is not self.thread:
            self.thread.join(_JOIN_S)

    def beat_soon(self) -> None:
        """Tell others at once: something about the watch is new."""
        self._beat_at = 0.0
        self.wake()

    def wake(self) -> None:
        """Make the thread look at its clock."""
        with self._waking, contextlib.suppress(BlockingIOError):  # full: it wakes anyway
            if self._wake_w >= 0:
                os.write(self._wake_w, b".")

    # --- in the thread

    def _run(self) -> None:
        watch = self._watch
        while not self._closed.is_set() and self._refresh() is not None:
            now = time.monotonic()
            if now >= self._beat_at:
                self._beat_at = now + heartbeat.BEAT_S
                self._heart.beat(watch.state())
            due = watch.live and now >= watch.recheck_at
            if due:
                watch.ask_for_walk()
            if due or self._stirred:
                self._take_in()
            self._wait(min(self._beat_at, watch.recheck_at) - time.monotonic())
        if not self._closed.is_set():
            watch.let_go()
        self._heart.close()
        with self._waking:
            os.close(self._wake_r)
            os.close(self._wake_w)
            self._wake_r = self._wake_w = -1

    def _wait(self, seconds: float) -> None:
        """Wait so long at most for changes, and then until they pause; or to be woken."""
        inotify = self._watch.queue
        queue = -1 if inotify is None or inotify.failed else inotify.fileno()
        poll = select.poll()
        for fd in (self._wake_r, queue):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        poll.poll(max(0.0, seconds * 1000))
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_r, 4_096)
        if inotify is not None and inotify.drain():
            latest = time.monotonic() + LONGEST_S
            while not self._closed.wait(QUIET_S) and inotify.drain():
                if time.monotonic() >= latest:
                    break
            self._stirred = True

    def _take_in(self) -> None:
        self._stirred = False
        refresh: Any = self._refresh()
        try:
            if refresh is not None:
                refresh(index=True)
        except Exception:
            # Whoever asks next meets it, and is told.
            log.debug("a refresh in the background failed", exc_info=True)
