"""Where things lie, how commands are run, and how this program fails."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
# cargo's target directory, as cargo itself would choose it
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or REPO / "target").resolve()
ROOT = TARGET / "subjects"
BENCH = REPO / "testdata" / "bench"


class Failure(Exception):
    """Something went wrong that the user can understand; `log` holds the output of the command that failed."""

    def __init__(self, message, log=None):
        super().__init__(message)
        self.log = log


def llvm():
    """The prefix of LLVM 22."""
    named = os.environ.get("UNSEEN_LLVM")
    if named:
        return Path(named)
    if shutil.which("llvm-config-22"):
        return Path(output(["llvm-config-22", "--prefix"]).strip())
    raise Failure("no llvm-config-22 on PATH: run scripts/setup build, or set UNSEEN_LLVM to the prefix of LLVM 22")


# Who is told to end takes what it runs along: builds and test suites have sessions of their own.
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: sys.exit(128 + number))


def output(command, **options):
    """Standard output of a command; a Failure with its standard error if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise Failure(f"{' '.join(map(str, command))}: exit {done.returncode}\n{tail}")
    return done.stdout


def shell(command, *, cwd, env, log, timeout, unprivileged=False):
    """Runs one command of a recipe; its output is appended to the log."""
    # root without its capabilities is denied what others are
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if unprivileged and os.geteuid() == 0 else []
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a") as sink:
        print(f"$ {command}", file=sink, flush=True)
        child = subprocess.Popen([*drop, "sh", "-ec", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=sink,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(timeout)
        except BaseException as stopped:
            os.killpg(child.pid, 9)
            child.wait()
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise Failure(f"`{command}` did not end within {timeout} s", log) from None
            raise
    if status:
        raise Failure(f"`{command}` failed with {status}", log)
