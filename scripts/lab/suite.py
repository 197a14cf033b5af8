"""Runs a subject's own test suite and looks at what it left: with the toolchain unseen, coverage must really have been recorded."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass

from .build import build
from .place import ROOT, Failure


@dataclass
class Outcome:
    """One row of the table."""
    name: str
    verdict: str
    seconds: float
    covered: str = "-"
    instrumented: str = "-"
    failure: Failure | None = None


def test(subject, toolchain, jobs):
    """Builds a subject and runs its suite. Never raises a Failure: it is part of the outcome."""
    start = time.monotonic()
    outcome = Outcome(subject.name, "passed", 0)
    try:
        tree = build(subject, toolchain, jobs)
        if toolchain.tools:
            store = ROOT / "store" / subject.name
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir(parents=True)
            tree.run("test", subject.test, {"UNSEEN_DIR": str(store)})
            outcome.covered = coverage(toolchain, store)
            outcome.instrumented = manifest(toolchain, tree.path(subject.binary))
        else:
            tree.run("test", subject.test)
    except Failure as failure:
        outcome.verdict, outcome.failure = "FAILED", failure
    outcome.seconds = time.monotonic() - start
    return outcome


def tool(toolchain, store, *arguments):
    """Output of an `unseen` command, read as JSON."""
    command = [toolchain.tools / "unseen", *arguments, "--format", "json"]
    env = {k: v for k, v in os.environ.items() if k != "UNSEEN_RUN"} | ({"UNSEEN_DIR": str(store)} if store else {})
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise Failure(f"unseen {arguments[0]} failed with {done.returncode}: {done.stderr.strip()[-400:]}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise Failure(f"unseen {arguments[0]} did not print JSON: {error}") from None


def coverage(toolchain, store):
    """Covered statements of all, as text; a Failure if nothing was covered."""
    if not any(path.suffix in (".cov", ".pack") for path in store.glob("runs/*/*")):
        raise Failure(f"the tests passed, but nothing was recorded in {store}")
    total = tool(toolchain, store, "report")["totals"]["statements"]
    if not 0 < total["covered"] <= total["total"]:
        raise Failure(f"the tests passed, but the report covers {total['covered']} of {total['total']} statements")
    return f"{total['covered']} of {total['total']}"


def manifest(toolchain, binary):
    """The share of instrumented functions of those that are the program's own, as text; a Failure if most are not."""
    read = tool(toolchain, None, "manifest", str(binary))
    own = read["summary"]["functions"] - read["counts"].get("standard library", 0)
    share = 100 * read["summary"]["instrumented"] / max(own, 1)
    if not 50 < share <= 100:
        raise Failure(f"{share:.1f} % of the functions of {binary} are instrumented")
    return f"{share:.1f} % of {own}"
