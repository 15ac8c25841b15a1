# SPDX-License-Identifier: Apache-2.0
"""Debian's stock kernel for ci/vm: fetched with apt, unpacked into the cache, never installed."""

import fcntl
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "linux-image-amd64"  # the cloud kernel has neither rxe nor 9p
PROGRAMS = ("qemu-system-x86_64", "busybox", "depmod", "cpio", "apt-get", "dpkg", "timeout", "setpriv")
IN_INITRAMFS = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
LAYOUT = 1  # of what lies in the cache; a change makes it anew


class Absent(Exception):
    """No machine can be had here; the text says why."""


class Kernel:
    def __init__(self, folder):
        self.folder = folder
        self.image, self.initramfs = folder / "vmlinux", folder / "initramfs"
        self.modules = folder / "modules"


def _output(*command):
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace",
                         env=dict(os.environ, LC_ALL="C"))
    return ran.stdout if ran.returncode == 0 else None


def _candidate():
    """(package, version) of the kernel that apt would install; None where apt knows of none."""
    depends = _output("apt-cache", "depends", PACKAGE) or ""
    name = re.search(r"Depends: (linux-image-\S+)", depends)
    policy = _output("apt-cache", "policy", name.group(1)) if name else None
    version = re.search(r"Candidate: (\d\S*)", policy or "")
    return (name.group(1), version.group(1)) if version else None


def _update():
    _output("apt-get", "update", "-qq")  # what comes of it is seen afterwards


def _uncompressed(image):
    """The ELF image inside a bzImage, which starts 2 s sooner; the whole where it is not found."""
    data = image.read_bytes()
    at = data.find(b"\xfd7zXZ\x00")
    while at >= 0:
        try:
            inner = lzma.LZMADecompressor().decompress(data[at:])
        except lzma.LZMAError:
            inner = b""
        if inner.startswith(b"\x7fELF"):
            return inner
        at = data.find(b"\xfd7zXZ\x00", at + 1)
    return data


def _module_files(modules, release):
    """The modules of the initramfs in the order in which they must be loaded."""
    files = []
    for name in IN_INITRAMFS:
        shown = _output("modprobe", "-d", str(modules), "-S", release, "--show-depends", name) or ""
        found = re.findall(r"^insmod (\S+)", shown, re.M)
        if not found and f"builtin {name}" not in shown:
            raise Absent(f"the kernel {release} has no module {name}")
        files += [one for one in found if one not in files]
    return files


def _make_initramfs(folder, release):
    with tempfile.TemporaryDirectory(dir=folder) as name:
        top = Path(name)
        for one in ("bin", "modules", "proc", "sys", "dev", "lower", "upper", "root"):
            (top / one).mkdir()
        shutil.copy(shutil.which("busybox"), top / "bin/busybox")
        shutil.copy(HERE / "vm/init", top / "init")
        (top / "init").chmod(0o755)
        order = []
        for path in _module_files(folder / "modules", release):
            shutil.copy(path, top / "modules")
            order.append(Path(path).name)
        (top / "modules/order").write_text("\n".join(order) + "\n")
        with open(folder / "initramfs", "wb") as out:
            found = subprocess.run(["find", ".", "-print0"], cwd=top, stdout=subprocess.PIPE,
                                   check=True).stdout
            subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=top,
                           input=found, stdout=out, check=True)


def _make(folder, package):
    """Fetches and unpacks into `folder`, which exists and is empty."""
    said = subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package],
                          cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    found = list(folder.glob("*.deb"))
    if said.returncode or len(found) != 1:
        raise Absent(f"{package} cannot be fetched: {said.stdout.strip()[-200:]}")
    subprocess.run(["dpkg", "-x", str(found[0]), str(folder / "unpacked")], check=True)
    found[0].unlink()
    unpacked = folder / "unpacked"
    release = next((unpacked / "lib/modules").iterdir()).name
    (folder / "modules/lib").mkdir(parents=True)
    (unpacked / "lib/modules").rename(folder / "modules/lib/modules")
    subprocess.run(["depmod", "-b", str(folder / "modules"), release], check=True)
    (folder / "vmlinux").write_bytes(_uncompressed(unpacked / f"boot/vmlinuz-{release}"))
    (folder / "release").write_text(release + "\n")
    shutil.rmtree(unpacked)


def _newest(cache):
    """What was unpacked last, for when apt cannot say anything."""
    made = sorted(cache.glob("kernel-*/release"), key=lambda path: path.stat().st_mtime)
    return made[-1].parent if made else None


def _unpacked(cache):
    wanted = _candidate()
    if not wanted:
        if newest := _newest(cache):
            return newest
        _update()
        wanted = _candidate()
    if not wanted:
        raise Absent(f"apt knows no {PACKAGE}")
    package, version = wanted
    folder = cache / f"kernel-{version.replace(':', '.')}-{LAYOUT}"
    if folder.exists():
        return folder
    for again in (True, False):
        with tempfile.TemporaryDirectory(dir=cache, prefix="making.") as name:
            made = Path(name) / "kernel"
            made.mkdir()
            try:
                _make(made, package)
                made.rename(folder)
                return folder
            except Absent:
                if not again:
                    raise
                _update()
    return folder


def find():
    """The kernel, made where it is missing. Raises Absent."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        raise Absent(f"missing: {' '.join(missing)} (ci/deps vm installs what has them)")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memkv"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "kernel.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernel = Kernel(_unpacked(cache))
        init = HERE / "vm/init"
        if not kernel.initramfs.exists() or \
                kernel.initramfs.stat().st_mtime < init.stat().st_mtime:
            _make_initramfs(kernel.folder, (kernel.folder / "release").read_text().strip())
        return kernel
