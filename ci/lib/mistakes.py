# SPDX-License-Identifier: Apache-2.0
"""Every mistake that a YAML file of ours may hold, and every way in which a system file may be bad:
each is fed to the program and must end in a named error, at a bounded cost."""

import os
import re
import subprocess
import tempfile
import threading

import proc
import sysfs

_GOOD = "network:\n  address: 127.0.0.1:0\n  auth_key_file: examples/auth.key\n"

# What it is, the file, and what the complaint must name.
CONFIGURATIONS = [
    ("duplicate key", _GOOD + "memory: {max_size: 1 MiB}\nmemory: {max_size: 2 MiB}\n", "memory"),
    ("unknown key", _GOOD + "memory: {max_sise: 1 MiB}\n", "max_size"),
    ("anchor", _GOOD + "memory: {max_size: &a 1 MiB}\n", "anchor"),
    ("alias", _GOOD + "memory: {max_size: *a}\n", "alias"),
    ("merge", _GOOD + "memory: {<<: {max_size: 1 MiB}}\n", "merge"),
    ("tag", _GOOD + "memory: {max_size: !!str 1 MiB}\n", "tag"),
    ("second document", _GOOD + "---\nmemory: {max_size: 1 MiB}\n", "document"),
    ("TAB", "network:\n\taddress: 127.0.0.1:0\n", "TAB"),
    ("leading zero", _GOOD + "network2: 1\nstorage: {lanes: 010}\n", "010"),
    ("underscore", _GOOD + "storage: {lanes: 1_0}\n", "1_0"),
    ("empty value", _GOOD + "storage: {lanes: }\n", "empty value"),
    ("boolean", _GOOD + "storage: {eviction: {enabled: yes}}\n", "true"),
    ("number with a colon", _GOOD + "storage: {lanes: 1:30}\n", "1:30"),
    ("hexadecimal without 0x", _GOOD + "rdma: {pkey: 8001}\n", "0x"),
    ("unit", _GOOD + "memory: {max_size: 1 GB}\n", "GiB"),
    ("depth", _GOOD + "memory: " + "[" * 33 + "]" * 33 + "\n", "32"),
    ("far too deep", "[" * 200000, "32"),
    ("too long", _GOOD + "# " + "x" * (1 << 20) + "\n", "too_large"),
    ("bad UTF-8", _GOOD.encode() + b"memory: {max_size: \xff\xfe}\n", "UTF-8"),
    ("no YAML", "{{{{", "config_invalid"),
    ("binary", bytes(range(256)) * 16, "config_invalid"),
    ("nothing", "", "mapping"),
]
_PLACE = re.compile(r":\d+:\d+: ")
_MOST_KIB, _MOST_CPU = 65536, 2.0


def _run(command):
    """Exit code, output, seconds of the processor, KiB at most (ours count, too, where it began)."""
    child = subprocess.Popen(command, cwd=proc.ROOT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    guard = threading.Timer(60, child.kill)
    guard.start()
    said = child.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(child.pid, 0)
    guard.cancel()
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, said, used.ru_utime + used.ru_stime, used.ru_maxrss


def configurations(bad):
    """Feeds each to memkv start; complaints go to `bad`. How many, and the most memory in KiB."""
    most = 0
    for about, text, named in CONFIGURATIONS:
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            code, said, seconds, kib = _run(["build/memkv", "start", "--check-config", "--config",
                                              file.name])
        most = max(most, kib)
        if code != 3 or named not in said or "config_invalid" not in said:
            bad.append(f"configuration, {about}: exit {code}, {named} expected: {said[:300]}")
        if "too_large" not in said and not _PLACE.search(said):
            bad.append(f"configuration, {about}: without line and column: {said[:300]}")
        if seconds > _MOST_CPU or kib > _MOST_KIB:
            bad.append(f"configuration, {about}: {seconds:.1f} s and {kib} KiB")
    return len(CONFIGURATIONS), most


# How a file of a tree (tests/net/trees/README.md) is made bad.
_WAYS = {"missing": None, "empty": ":", "binary": r" * 40 \\", "huge": " * 1048576 x"}


def _variants(text):
    """(what, description) for each file of a tree, bad in each way."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = re.match(r"([^ :#\[]+):", line)
        for way, form in _WAYS.items() if match else ():
            changed = [] if form is None else [match.group(1) + form]
            yield (f"{match.group(1)} {way}",
                   "\n".join(lines[:number] + changed + lines[number + 1:]))


def trees(bad, names):
    """net show on each; a file that could not be used is named, and the rest is shown."""
    count = named = 0
    for name in names:
        for what, description in _variants(sysfs.description(name)):
            with sysfs.planted(description) as root:
                code, said, seconds, _ = _run(sysfs.command(root, "net", "show"))
            count += 1
            named += code == 3
            fits = code in (0, 8) or (code == 3 and "system file" in said)
            if not fits or "device" not in said or len(said) > 65536:
                bad.append(f"tree {name}, {what}: exit {code}: {said[:300]}")
            if seconds > _MOST_CPU:
                bad.append(f"tree {name}, {what}: {seconds:.1f} s")
    if named == 0:
        bad.append("trees: no bad file was named")
    return count, named
