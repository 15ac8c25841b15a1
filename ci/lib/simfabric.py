# SPDX-License-Identifier: Apache-2.0
"""Fabrics and peers for the shows of simfabric: what was begun here is ended here, and what a fabric
leaves behind can be compared."""

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import proc

SIMFABRIC = str(proc.ROOT / "build/simfabric")
PEER = str(proc.ROOT / "build/release/tests/show/verbs_peer")
SECONDS = 60  # nothing here takes that long: it would hang

# Values of enum ibv_wc_status.
STATUS = {0: "SUCCESS", 5: "WR_FLUSH_ERR", 9: "REM_INV_REQ_ERR", 10: "REM_ACCESS_ERR",
          12: "RETRY_EXC_ERR", 13: "RNR_RETRY_EXC_ERR"}


class Hang(Exception):
    pass


class Refused(Exception):
    """A command of simfabric that must be done was not."""


def build():
    """Installs what is missing, ibv_devinfo among it, and builds."""
    installed = subprocess.run(["ci/deps", "vm"], cwd=proc.ROOT).returncode == 0
    return installed and proc.make("all", "build/release/tests/show/verbs_peer")


def why_not():
    """Why no program can run on a node here; empty: it can."""
    if not os.path.exists(SIMFABRIC + "-rdmav34.so") and not os.path.exists(
            str(proc.ROOT / "build/release/simfabric-rdmav34.so")):
        return "the verbs plug-in is not built (ci/deps check installs libibverbs-dev)"
    user = [] if os.geteuid() == 0 else ["--map-current-user"]
    ran = subprocess.run(["unshare", *user, "--mount", "true"], capture_output=True, text=True)
    return ran.stderr.strip() if ran.returncode else ""


def interruptible():
    """Ctrl-C and SIGTERM end a show through its clean-up."""
    def on_signal(number, _frame):
        raise SystemExit(128 + number)
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)


class Home:
    """A folder for the run folders of a show; it ends every fabric in it."""

    def __enter__(self):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="simfabric-show-", dir=base)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder)
        self.names, self.children = set(), []
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        for name in self.names:
            subprocess.run([SIMFABRIC, "down", "--name", name], env=self.env, timeout=SECONDS,
                           capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def type(self, *words, input=None):
        """A command of simfabric: exit status and all that it said."""
        try:
            ran = subprocess.run([SIMFABRIC, *words], env=self.env, text=True, input=input,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Hang(f"simfabric {' '.join(words)}") from None
        return ran.returncode, ran.stdout

    def must(self, *words, input=None):
        status, said = self.type(*words, input=input)
        if status:
            raise Refused(f"simfabric {' '.join(words)}: {status}: {said.strip()}")
        return said

    def up(self, topology, name="default"):
        self.names.add(name)
        return self.must("up", "-", "--name", name, input=topology)

    def runner(self, name="default"):
        """The process that runs the fabric."""
        return int(Path(self.folder, "simfabric", name, "run").read_text().split()[0])

    def peer(self, node, *options, name="default"):
        return Peer(self, node, options, name)


class Peer:
    """tests/show/verbs_peer on a node."""

    def __init__(self, home, node, options, name):
        self.child = subprocess.Popen([SIMFABRIC, "exec", "--name", name, "--node", node, "--", PEER,
                                       *options], env=home.env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        home.children.append(self.child)
        self.rest = b""
        self.me = self.read().removeprefix("peer ").split()

    def read(self):
        while b"\n" not in self.rest:
            if not select.select([self.child.stdout], [], [], SECONDS)[0]:
                raise Hang("a program on a node says nothing")
            part = os.read(self.child.stdout.fileno(), 65536)
            if not part:
                return "ended"
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def tell(self, line):
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass

    def connect(self, other, lid=None):
        """To the other end, or to another LID."""
        self.tell("connect " + " ".join([lid or other.me[0], *other.me[1:]]))
        return self.read()

    def begin_write(self, length=64):
        self.tell(f"write {length}")

    def end_write(self):
        """{status: how many}, or the line that said something else."""
        found = {}
        while True:
            line = self.read()
            match = re.match(r"done (\d+) (\d+)$", line)
            if not match:
                return found if line == "end" else line
            number = int(match.group(1))
            found[STATUS.get(number, str(number))] = int(match.group(2))

    def write(self, length=64):
        self.begin_write(length)
        return self.end_write()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def end(self):
        """Its exit status; it ends because its input does."""
        self.child.stdin.close()
        try:
            return self.child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise Hang("a program does not end") from None


def pair(home, first=(), second=(), name="default"):
    """Two connected peers on n1 and n2."""
    one, two = home.peer("n1", *first, name=name), home.peer("n2", *second, name=name)
    if (one.connect(two), two.connect(one)) != ("connected", "connected"):
        raise Refused("two peers do not connect")
    return one, two


# ---- What is left behind

LOOKS = 20000  # at what should settle: who asked a moment ago is let go of a little later


def descriptors(pid, most=0):
    """How many the process has, looking until there are `most` at most."""
    count = 0
    for _ in range(LOOKS if most else 500):
        now = len(os.listdir(f"/proc/{pid}/fd"))
        count = now if most or not count else min(now, count)
        if count <= most:
            break
    return count


def resident(pid):
    """KiB of its own and of shared memory that the process holds."""
    text = Path(f"/proc/{pid}/status").read_text()
    return sum(int(found) for found in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", text, re.M))


def more(home, before):
    """What there is more of than before; empty: nothing."""
    for _ in range(50):
        now = traces(home)
        grown = {what: count for what, count in now.items() if count > before[what]}
        if not grown:
            return {}
    return grown


def traces(home):
    """What a fabric could leave on this machine: its run folders, shared memory, mounts, sockets,
    processes."""
    mounts = Path("/proc/self/mountinfo").read_text().count(home.folder)
    sockets = min(Path("/proc/net/unix").read_text().count(home.folder) for _ in range(100))
    processes = 0
    for one in Path("/proc").iterdir():
        try:
            processes += one.name.isdigit() and home.folder.encode() in (
                one / "environ").read_bytes() and (one / "status").read_text().find("\tZ ") < 0
        except OSError:
            continue
    folder = Path(home.folder, "simfabric")
    return {"run folders": len(os.listdir(folder)) if folder.exists() else 0,
            "/dev/shm": sum("simfabric" in one for one in os.listdir("/dev/shm")),
            "mounts": mounts, "sockets": sockets, "processes": processes}
