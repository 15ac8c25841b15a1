# SPDX-License-Identifier: Apache-2.0
"""Child processes that never outlive us, two at a time, and lines for people or for pipes."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = os.cpu_count() or 1

_running = set()
_lock = threading.Lock()
_stopping = False


def _kill_group(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop_all():
    """Ends every child we started, and what it started."""
    global _stopping
    with _lock:
        _stopping = True
        for child in _running:
            _kill_group(child)


def _on_signal(number, _frame):
    stop_all()
    progress("")
    print("interrupted", file=sys.stderr)
    sys.stdout.flush()
    os._exit(128 + number)


def handle_signals():
    signal.signal(signal.SIGINT, _on_signal)
    signal.signal(signal.SIGTERM, _on_signal)


class Ran:
    """What a finished command left: status is the exit code, -n for a signal, None for a hang."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds


def run(command, timeout=None, env=None, stdout=subprocess.PIPE):
    """Runs a command in the project's root, in a process group of its own."""
    full = dict(os.environ, **(env or {}))
    begin = time.monotonic()
    with _lock:
        if _stopping:
            return Ran(-signal.SIGKILL, "", "stopped", 0.0)
        child = subprocess.Popen(command, cwd=ROOT, env=full, stdin=subprocess.DEVNULL,
                                 stdout=stdout, stderr=subprocess.PIPE, start_new_session=True)
        _running.add(child)
    try:
        out, err = child.communicate(timeout=timeout)
        status = child.returncode
    except subprocess.TimeoutExpired:
        _kill_group(child)
        out, err = child.communicate()
        status = None
    finally:
        _kill_group(child)
        with _lock:
            _running.discard(child)
    text = [(part or b"").decode("utf-8", "replace") for part in (out, err)]
    return Ran(status, text[0], text[1], time.monotonic() - begin)


def parallel(jobs, function):
    """Yields function(job) for every job as each ends, with as many at once as there are cores."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        pending = [pool.submit(function, job) for job in jobs]
        try:
            for done in concurrent.futures.as_completed(pending):
                yield done.result()
        finally:
            for job in pending:
                job.cancel()


def make(*arguments):
    """Builds; on failure prints what make said and returns False."""
    ran = run(["make", "-s", f"-j{JOBS}", "--no-print-directory", *arguments])
    if ran.status == 0:
        sys.stderr.write(ran.err)
        return True
    print(ran.out + ran.err, end="")
    print(f"FAILED  make {' '.join(arguments)}")
    return False


def progress(text):
    """One line that overwrites itself on a terminal; nothing in a pipe."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        sys.stderr.write("\r\033[K" + text[:width - 1])
        sys.stderr.flush()


def say(text):
    progress("")
    print(text, flush=True)
