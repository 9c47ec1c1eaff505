"""The writer does everything, in order, and lets nobody fill the memory."""

import subprocess
import sys
import threading
from functools import partial

from chatcli.engine.kv.writer import Writer


def test_jobs_run_in_order_behind_the_caller() -> None:
    """Adding does not wait; flushing does; closing does the rest."""
    writer, gate = Writer(), threading.Event()
    seen: list[tuple[int, str]] = []

    def see(n: int) -> None:
        seen.append((n, threading.current_thread().name))

    writer.submit(gate.wait)
    for n in range(5):
        writer.submit(partial(see, n))
    assert seen == []
    assert not writer.is_idle
    gate.set()
    writer.flush()
    assert seen == [(n, "kv-writer") for n in range(5)]
    writer.submit(lambda: seen.append((5, "")))
    writer.close()
    assert len(seen) == 6
    writer.submit(lambda: seen.append((6, "")))
    assert len(seen) == 7


def test_a_full_queue_makes_the_caller_wait() -> None:
    """No more than the limit waits in memory; one job is always taken, however large."""
    writer, gate, done = Writer(limit_bytes=10), threading.Event(), threading.Event()
    writer.submit(gate.wait, 50)

    def more() -> None:
        writer.submit(lambda: None, 5)
        done.set()

    thread = threading.Thread(target=more)
    thread.start()
    assert not done.wait(0.05)
    gate.set()
    thread.join(5)
    assert done.is_set()
    writer.close()


def test_a_program_that_forgets_to_close_still_writes() -> None:
    """What is queued at the end of the process is written, and the process ends."""
    script = (
        "import time\n"
        "from chatcli.engine.kv.writer import Writer\n"
        "w = Writer()\n"
        "w.submit(lambda: time.sleep(0.1))\n"
        "w.submit(lambda: print('written', flush=True))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "written\n"
