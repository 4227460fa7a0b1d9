"""Work in a thread of its own, one at a time: started, asked to stop, waited for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from recall.errors import MigrationError, RecallError

log = logging.getLogger("recall.migration")

Work = Callable[[Callable[[], bool]], object]
"""Does the work; asks the callable that it is given, now and then, whether to stop."""


class Background:
    """Best effort: what fails is logged, and tried again when it is started the next time."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> bool:
        """Start the work, unless it is under way or was ended; returns whether it started."""
        with self._lock:
            if self._stop.is_set() or (self._thread and self._thread.is_alive()):
                return False
            # A daemon: who ends the process without `end` is not held up by a slow model.
            self._thread = threading.Thread(target=self._run, name="recall-migration", daemon=True)
            self._thread.start()
            return True

    @property
    def running(self) -> bool:
        """Tell whether work is under way."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the work is done; returns whether it is."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
        return not self.running

    def end(self, timeout_s: float = 10.0) -> bool:
        """Ask the work to stop, and wait until it has; nothing starts afterwards.

        The file that is being written is finished. Returns whether it ended in time.
        """
        self._stop.set()
        return self.wait(timeout_s)

    def _run(self) -> None:
        try:
            self._work(self._stop.is_set)
        except MigrationError:
            return  # another process is at it
        except (RecallError, OSError) as error:
            log.warning("the migration in the background ended: %s", error)
        except Exception:  # a thread of ours must not end with a traceback on somebody's screen
            log.warning("the migration in the background failed", exc_info=True)
