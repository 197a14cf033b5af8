"""Measures links. A recorder takes the linker's place in an ordinary build; when the wanted program is linked it links it
several times, interleaved with and without our pass, notes seconds and memory, and then links it as it was asked to.

Run as a program this file is that recorder: $LAB_LINK is a JSON object with the real linker, the wanted name, runs and a file for the result."""

import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path


def recorder(subject, toolchain, program, runs, prefix, home):
    """Prepares a recorder. Returns what to add to the environment of the build, and the file with the result."""
    shutil.rmtree(home, ignore_errors=True)
    (home / "llvm" / "bin").mkdir(parents=True)
    # a prefix that is LLVM's in everything but the linker
    for entry in prefix.iterdir():
        if entry.name != "bin":
            (home / "llvm" / entry.name).symlink_to(entry)
    for entry in (prefix / "bin").iterdir():
        if entry.name != "ld.lld":
            (home / "llvm" / "bin" / entry.name).symlink_to(entry)
    linker = home / "llvm" / "bin" / "ld.lld"
    linker.write_text(f'#!/bin/sh\nexec {sys.executable} -B {Path(__file__).resolve()} "$@"\n')
    linker.chmod(0o755)
    result = home / "result.json"
    job = {"linker": str(prefix / "bin" / "ld.lld"), "wanted": program.name, "runs": runs, "result": str(result)}
    env = {"LAB_LINK": json.dumps(job)}
    env |= {"UNSEEN_LLVM": str(home / "llvm")} if toolchain.tools else {"LAB_LINKER": str(linker)}
    return env, result


def medians(result):
    """CPU seconds, wall seconds and megabytes of each way of linking, as a recorder noted them."""
    noted = json.loads(result.read_text())
    return {way: [statistics.median(column) for column in zip(*rows)] for way, rows in noted.items()}


def once(argv):
    """CPU seconds, wall seconds and megabytes of one link."""
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(os.waitstatus_to_exitcode(status))
    return usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024


def record(job, arguments):
    argv = [job["linker"], *arguments]
    output = arguments[arguments.index("-o") + 1] if "-o" in arguments else ""
    # cargo links NAME-HASH
    if os.path.basename(output).split("-")[0] == job["wanted"].split("-")[0]:
        spare = [job["result"] + ".out" if word == output else word for word in argv]
        ways = {"asked": spare}
        if any(word.startswith("--load-pass-plugin=") for word in spare):
            ways["without"] = [word for word in spare if not word.startswith("--load-pass-plugin=")]
        noted = {way: [] for way in ways}
        for _ in range(job["runs"]):
            for way, command in ways.items():
                noted[way].append(once(command))
        with open(job["result"], "w") as file:
            json.dump(noted, file)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    record(json.loads(os.environ["LAB_LINK"]), sys.argv[1:])
