# SPDX-License-Identifier: Apache-2.0
"""Trees of tests/net/trees as folders that stand for /, and memkv that looks at one.

    with sysfs.planted(text) as root:
        sysfs.memkv(root, "net", "show")"""

import contextlib
import os
import posixpath
import re
import subprocess
import tempfile
from pathlib import Path

import proc

TREES = proc.ROOT / "tests/net/trees"
_LINE = re.compile(r"(?P<name>[^ :]+?)(?P<folder>/$)?"
                   r"(?:: ?(?P<text>.*)|(?: (?P<kind>->|!|\*) (?P<rest>.*)))?$")
# Not even for root: what nobody may read must not be readable here either.
_PLAIN_USER = (["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
               if os.getuid() == 0 else [])


def _bad_file(path, error):
    """A file whose reading gives this error of the contract."""
    if error == "access_denied":
        path.touch()
        path.chmod(0)
    elif error == "invalid_argument":
        path.mkdir()  # reading a folder: EISDIR
    else:
        raise ValueError(f"no file gives {error}")


def _file(path, found):
    path.parent.mkdir(parents=True, exist_ok=True)
    if found["folder"]:
        path.mkdir(exist_ok=True)
    elif found["text"] is not None:
        path.write_text(found["text"] + "\n" if found["text"] else "")
    elif found["kind"] == "->":
        path.symlink_to(found["rest"])
    elif found["kind"] == "!":
        _bad_file(path, found["rest"])
    else:
        count, byte = found["rest"].split(" ")
        path.write_bytes((b"\x01" if byte[0] == "\\" else byte[0].encode()) * int(count))


def _plant(text, root):
    at = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("["):
            at = line[1:line.index("]")]
        elif line and not line.startswith("#"):
            found = _LINE.match(line)
            if not found or not (found["folder"] or found["kind"] or found["text"] is not None):
                raise ValueError(f"line {number} of the tree cannot be read: {line}")
            _file(root / posixpath.join(at, found["name"]).lstrip("/"), found)


@contextlib.contextmanager
def planted(text):
    """The folder that stands for /, from a description; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="memkv-tree-") as folder:
        _plant(text, Path(folder))
        yield Path(folder)


def description(name):
    return (TREES / name / "tree").read_text()


def command(root, *words):
    """What to run for `memkv WORDS` on that folder."""
    return [*_PLAIN_USER, "build/memkv", *words, "--sysfs-root", str(root)]


def memkv(root, *words):
    return subprocess.run(command(root, *words), cwd=proc.ROOT, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
