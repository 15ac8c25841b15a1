# SPDX-License-Identifier: Apache-2.0
"""A real server of this build for scripts: started on ports of its own, and ended whatever happens.

    with service.Server("--set", "memory.max_size=64MiB") as server:
        service.memkv("put", "k", "file", server=server)"""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

import proc

MEMKV = proc.ROOT / "build/memkv"
KEY_FILE = proc.ROOT / "examples/auth.key"
_READY = re.compile(r"memkv: ready data=(\S+) admin=(\S+)")


class Server:
    """memkv start with examples/memkv.yaml on free ports; `data` and `admin` are its addresses."""

    def __init__(self, *options, config=proc.ROOT / "examples/memkv.yaml", seconds=20,
                 env=None):
        self.env = dict(os.environ, **(env or {}))
        self.command = [MEMKV, "start", "--config", config, "--address", "127.0.0.1:0", *options]
        self.seconds, self.data, self.admin, self.child = seconds, None, None, None

    def __enter__(self):
        self.log = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen([*map(str, self.command)], cwd=proc.ROOT, text=True,
                                      env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=self.log)
        guard = threading.Timer(self.seconds, self.child.kill)
        guard.start()
        line = self.child.stdout.readline()
        guard.cancel()
        match = _READY.match(line)
        if not match:
            self.__exit__()
            raise RuntimeError(f"no ready line but {line!r}; {self.said()}")
        self.data, self.admin = match.groups()
        return self

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def _until(self, condition, seconds=20):
        """Looks every now and then; False when it does not come true."""
        ended = threading.Event()
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline or self.child.poll() is not None:
                return False
            ended.wait(0.02)
        return True

    def says(self, text):
        return self._until(lambda: text in self.said())

    def _busy(self):
        with urllib.request.urlopen(f"http://{self.admin}/v1/metrics", timeout=10) as answer:
            return re.search(r"^memkv_transfers [1-9]", answer.read().decode(), re.M)

    def is_busy(self):
        """Waits until a value is on its way; False when none comes."""
        return self._until(self._busy)

    def stays_busy(self):
        """Whether a value is still on its way when what the clients had sent is taken."""
        return not self._until(lambda: not self._busy(), 0.5)

    def send(self, number):
        self.child.send_signal(number)

    def wait(self, seconds=20):
        """Its exit code; None when it does not end."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.send(signal.SIGTERM)
            if self.wait(15) is None:
                self.child.kill()
                self.child.wait()
        self.child.stdout.close()


def environment(server=None):
    """Of a client over TCP with the example key."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMKV_")}
    env.update(MEMKV_AUTH_KEY_FILE=str(KEY_FILE), MEMKV_TRANSPORT="tcp")
    if server:
        env["MEMKV_SERVERS"] = server.data
    return env


def memkv(*arguments, server=None, env=None, seconds=60, **more):
    """Runs a command to its end."""
    return subprocess.run([MEMKV, *arguments], cwd=proc.ROOT, text=True, capture_output=True,
                          timeout=seconds, env=env or environment(server), **more)
