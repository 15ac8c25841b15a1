# SPDX-License-Identifier: Apache-2.0
"""Who used the processors while something was measured: samples in which others did are worth
nothing.

    with quiet.Watch([0, 1], [server.pid]) as watch:
        watch.run(["client", ...])
    watch.others        # 0.02: others had two hundredths of the time of these processors"""

import os
import subprocess
import time

_TICK = os.sysconf("SC_CLK_TCK")
_USER, _NICE, _SYSTEM, _STEAL = 0, 1, 2, 7  # of the columns of /proc/stat


def _processors(numbers):
    """Seconds that anybody used, and that the machine below took, on these processors."""
    wanted = {f"cpu{number}" for number in numbers}
    used = stolen = 0
    with open("/proc/stat") as stat:
        for name, *ticks in map(str.split, stat):
            if name in wanted:
                used += sum(int(ticks[column]) for column in (_USER, _NICE, _SYSTEM))
                stolen += int(ticks[_STEAL])
    return used / _TICK, stolen / _TICK


def _process(pid):
    """Seconds that a process with its threads used."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


class Watch:
    """`processors` are watched, the processes `pids` and what run() starts are ours."""

    def __init__(self, processors, pids):
        self.processors, self.pids = processors, pids
        self.own, self.others = 0.0, 0.0

    def _ours(self):
        return self.own + sum(map(_process, self.pids))

    def __enter__(self):
        self.begin = time.monotonic(), _processors(self.processors), self._ours()
        return self

    def run(self, command, env=None, seconds=60):
        """(exit code, what it printed); it is killed when it takes too long."""
        child = subprocess.Popen([*map(str, command)], text=True, stdin=subprocess.DEVNULL, env=env,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        before = os.times()
        try:
            text, _ = child.communicate(timeout=seconds)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        after = os.times()
        self.own += (after.children_user - before.children_user +
                     after.children_system - before.children_system)
        return child.returncode, text

    def __exit__(self, *_):
        began, (used, stolen), ours = self.begin
        used_now, stolen_now = _processors(self.processors)
        others = used_now - used - (self._ours() - ours)
        span = (time.monotonic() - began) * len(self.processors)
        self.others = (max(0.0, others) + stolen_now - stolen) / span
