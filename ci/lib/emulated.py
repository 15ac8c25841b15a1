# SPDX-License-Identifier: Apache-2.0
"""Scenarios on simfabric's simulated adapters, for ci/check-emulated and ci/show/parity."""

import json
import re

import proc

JOBS = 6  # at a time: most of a case is waiting
PLUGIN = "build/release/simfabric-rdmav34.so"


def absence():
    """Why there is no such fabric here; empty where there is one. Everything is built already."""
    if not (proc.ROOT / PLUGIN).exists():
        return "the verbs plug-in of simfabric is not built: libibverbs-dev is missing"
    ran = proc.run(["unshare", "--map-root-user", "--mount", "--net", "true"], timeout=60)
    return "" if ran.status == 0 else f"no namespaces can be made: {ran.err.strip()}"


def files():
    """Scenario files with the tag `emulated`."""
    tagged = re.compile(r"^tags:.*\bemulated\b", re.M)
    return [str(path.relative_to(proc.ROOT)) for path in sorted(proc.ROOT.glob("scenarios/**/*.yaml"))
            if tagged.search(path.read_text())]


def is_missed(case):
    """Whether it is about a moment within a transfer, which a fault word may miss in real time: how the
    operation ends is then open, and the case is not judged unless it passed."""
    return "moment=during" in case["cell"].split() and case["status"] == "failed"


def run(paths, seconds):
    """What memkv-scenario says of each case of `paths`; None and why when it says nothing."""
    ran = proc.run(["build/memkv-scenario", "run", *paths, "--fabric", "emulated", "--jobs", str(JOBS),
                    "--json"], timeout=seconds)
    try:
        cases = json.loads(ran.out)["scenarios"]
        for case in filter(is_missed, cases):
            case.update(status="skipped", reason="a moment within a transfer was missed or hit late")
        return cases, ""
    except ValueError:
        return None, f"memkv-scenario ended with {ran.status}: {(ran.err or ran.out)[-500:]}"
