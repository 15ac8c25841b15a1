# SPDX-License-Identifier: Apache-2.0
"""Scenarios on simfabric's simulated adapters, for ci/check-emulated and ci/show/parity."""

import json
import os
import re

import proc

AGAIN = 3
JOBS = 6  # at a time: most of a case is waiting
PLUGIN = "build/release/simfabric-rdmav34.so"


def absence():
    """Why there is no such fabric here; empty where there is one. Everything is built already."""
    if not (proc.ROOT / PLUGIN).exists():
        return "the verbs plug-in of simfabric is not built: libibverbs-dev is missing"
    users = ["--map-root-user"] if os.geteuid() else []  # root needs none of its own
    ran = proc.run(["unshare", *users, "--mount", "--net", "true"], timeout=60)
    return "" if ran.status == 0 else f"no namespaces can be made: {ran.err.strip()}"


def files():
    """Scenario files with the tag `emulated`."""
    tagged = re.compile(r"^tags:.*\bemulated\b", re.M)
    return [str(path.relative_to(proc.ROOT)) for path in sorted(proc.ROOT.glob("scenarios/**/*.yaml"))
            if tagged.search(path.read_text())]


def _once(paths, seconds, jobs):
    """What memkv-scenario says of each case of `paths`; None and why when it says nothing."""
    ran = proc.run(["build/memkv-scenario", "run", *paths, "--fabric", "emulated", "--jobs", str(jobs),
                    "--json"], timeout=seconds)
    try:
        return json.loads(ran.out)["scenarios"], ""
    except ValueError:
        return None, f"memkv-scenario ended with {ran.status}: {(ran.err or ran.out)[-500:]}"


def run(paths, seconds):
    """The cases of `paths`, or None and why. Time is real and the processors are shared: a moment
    within a transfer may be missed. A case that fails has failed only when it does so again alone,
    AGAIN times; that it passed at a later try is said."""
    cases, why = _once(paths, seconds, JOBS)
    for case in cases or []:
        tries, first = 1, (case.get("failures") or [{}])[0]
        while case["status"] == "failed" and tries <= AGAIN:
            tries += 1
            again, _ = _once([case["file"], *(["--cell", case["cell"]] if case["cell"] else [])],
                             60, 1)
            if again and again[0]["status"] == "passed":
                case.update(again[0])
                proc.say(f"    passed at try {tries}: {case['file']} [{case['cell']}], which had failed: "
                         f"line {first.get('line')}: expected {first.get('expected')}, found "
                         f"{first.get('found')}")
    return cases, why
