"""One thread that does the writing, behind whatever the user is doing.

Knows jobs and their sizes, not what they write. Jobs run in the order in which they were
given; a job deals with its own errors.
"""

import atexit
import threading
from collections import deque
from collections.abc import Callable

QUEUE_BYTES = 256 << 20
"""More than this is not kept waiting in memory: whoever adds a job then waits for the disk."""


class Writer:
    """Runs jobs in a thread of its own, started at the first one."""

    def __init__(self, limit_bytes: int = QUEUE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._jobs: deque[tuple[Callable[[], object], int]] = deque()
        self._n_bytes = 0
        self._busy = False
        self._closing = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], object], n_bytes: int = 0) -> None:
        """Run `job`, which holds `n_bytes` of memory, after those before it.

        Waits while the queue is full. After `close` the job is run at once, here.
        """
        with self._changed:
            if not self._closing:
                self._changed.wait_for(
                    lambda: not self._n_bytes or self._n_bytes + n_bytes <= self._limit_bytes
                )
                self._jobs.append((job, n_bytes))
                self._n_bytes += n_bytes
                self._start()
                self._changed.notify_all()
                return
        job()

    def _start(self) -> None:
        if self._thread is None:
            # A daemon, so that a program that forgets `close` can end; what is queued is
            # written first even then.
            self._thread = threading.Thread(target=self._run, name="kv-writer", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closing)
                if not self._jobs:
                    return
                job, n_bytes = self._jobs.popleft()
                self._busy = True
            try:
                job()
            finally:
                del job
                with self._changed:
                    self._n_bytes -= n_bytes
                    self._busy = False
                    self._changed.notify_all()

    @property
    def is_idle(self) -> bool:
        """Whether everything given so far is done."""
        return not self._jobs and not self._busy

    def flush(self) -> None:
        """Wait until everything given so far is done."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_idle)

    def close(self) -> None:
        """Do what is queued, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
            atexit.unregister(self.close)
            self._thread = None
