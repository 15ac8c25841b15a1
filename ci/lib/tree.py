# SPDX-License-Identifier: Apache-2.0
"""The files that lint looks at: the project, or a copy in which a rule was broken."""

import subprocess
from pathlib import Path

import proc


class Tree:
    """Files by path from the root, read once; `objects` is where their release objects are."""

    def __init__(self, root, paths, objects):
        self.root = Path(root)
        self.paths = sorted(paths)
        self.objects = Path(objects)
        self._texts = {}

    def text(self, path):
        """The file as text; None if it is binary."""
        if path not in self._texts:
            data = (self.root / path).read_bytes()
            binary = b"\0" in data
            self._texts[path] = None if binary else data.decode("utf-8", "replace")
        return self._texts[path]

    def lines(self, path):
        return (self.text(path) or "").split("\n")

    def code(self):
        return [path for path in self.paths if path.endswith((".c", ".h"))]


def project():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=proc.ROOT,
                            check=True, capture_output=True).stdout.decode().split("\0")
    paths = [path for path in set(listed) if path and (proc.ROOT / path).is_file()]
    return Tree(proc.ROOT, paths, proc.ROOT / "build/release/obj")
