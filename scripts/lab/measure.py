"""Measures programs: CPU seconds, interleaved; instructions, by callgrind; and what a child used at most."""

import hashlib
import os
import re
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .place import Failure


@dataclass
class Command:
    """One program to be measured under one setting: its arguments and what it adds to the environment.
    {scratch} in either stands for an empty directory on tmpfs, new for each run."""
    label: str
    argv: list[str]
    env: dict[str, str]
    stdin: str | None = None


@dataclass
class Used:
    """What one run used: CPU and wall seconds, kilobytes of memory at most, and a name for what it printed."""
    cpu: float
    wall: float
    memory: int
    printed: str


def run(command, wrap=()):
    """Runs a command once, in a fresh scratch directory; `wrap` is put before it."""
    scratch = Path(tempfile.mkdtemp(prefix="unseen-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        def fill(text):
            return str(text).replace("{scratch}", str(scratch))
        argv = [fill(word) for word in [*wrap, *command.argv]]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("UNSEEN", "LLVM_PROFILE"))}
        env = inherited | {name: fill(value) for name, value in command.env.items()}
        with open(command.stdin or os.devnull, "rb") as source, open(scratch / "stdout", "wb") as sink, \
                open(scratch / "stderr", "wb") as errors:
            start = time.perf_counter()
            pid = os.posix_spawnp(argv[0], argv, env, file_actions=[
                (os.POSIX_SPAWN_DUP2, source.fileno(), 0), (os.POSIX_SPAWN_DUP2, sink.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
            _, status, usage = os.wait4(pid, 0)
            wall = time.perf_counter() - start
        if status:
            tail = (scratch / "stderr").read_text(errors="replace")[-600:]
            raise Failure(f"{command.label}: {' '.join(argv)[:300]}: exit {os.waitstatus_to_exitcode(status)}\n{tail}")
        log = scratch / "valgrind"
        printed = hashlib.sha256((scratch / "stdout").read_bytes()).hexdigest()
        used = Used(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss, printed)
        return (used, log.read_text()) if log.exists() else (used, "")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def agree(commands, printed):
    """A variant that computes something else must not be compared."""
    if len(set(printed)) > 1:
        which = [c.label for c, p in zip(commands, printed) if p != printed[0]]
        raise Failure(f"{', '.join(which)}: prints something else than {commands[0].label}")


def times(commands, runs):
    """CPU seconds of each command, `runs` times, interleaved, after one round to warm up. A list per command."""
    agree(commands, [run(command)[0].printed for command in commands])
    rounds = [[run(command)[0].cpu for command in commands] for _ in range(runs)]
    return [list(column) for column in zip(*rounds)]


def instructions(commands):
    """Instructions of each command."""
    results = [run(command, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file={scratch}/valgrind"])
               for command in commands]
    agree(commands, [used.printed for used, _ in results])
    counts = []
    for command, (_, log) in zip(commands, results):
        found = re.search(r"Collected : (\d+)", log)
        if not found:
            raise Failure(f"{command.label}: callgrind counted nothing:\n{log[-600:]}")
        counts.append(int(found[1]))
    return counts


def ratio(column, base):
    """The ratio of medians, with the least and the greatest ratio of a round."""
    each = [a / b for a, b in zip(column, base)]
    return statistics.median(column) / statistics.median(base), min(each), max(each)
