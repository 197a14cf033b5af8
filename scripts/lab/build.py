"""Builds a subject with a toolchain, in a private copy of its source; what is up to date is left alone."""

import hashlib
import json
import os
import resource
import shutil
import time

from . import fetch
from .place import BENCH, ROOT, Failure, shell
from .toolchain import UNSET

TIMEOUT = 3600


class Tree:
    """One subject in one toolchain: its directory, its environment, its logs."""

    def __init__(self, subject, toolchain, jobs=2):
        self.subject, self.toolchain = subject, toolchain
        self.directory = ROOT / "build" / toolchain.name / subject.name
        self.logs = ROOT / "log" / toolchain.name
        # CPU and wall seconds of each step that was run
        self.spent = {}
        inherited = {k: v for k, v in os.environ.items() if k not in UNSET and not k.startswith("GIT_")}
        self.env = inherited | toolchain.env | {
            "CFLAGS": "-O2", "CXXFLAGS": "-O2", "JOBS": str(jobs), "BENCH": str(BENCH), "TARGET": toolchain.cargo_output,
            "CARGO_BUILD_JOBS": str(jobs), "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs), "CTEST_PARALLEL_LEVEL": str(jobs),
            "CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": str(self.directory / "target"), "LC_ALL": "C.UTF-8",
        }

    def run(self, step, commands, env=(), timeout=TIMEOUT):
        """Runs the commands of a step; its log is started anew."""
        log = self.logs / f"{self.subject.name}.{step}.log"
        log.unlink(missing_ok=True)
        before = clocks()
        for command in commands:
            shell(command, cwd=self.directory, env=self.env | dict(env), log=log, timeout=timeout,
                  unprivileged=step in ("test", "verify") and self.subject.unprivileged)
        self.spent[step] = tuple(now - then for now, then in zip(clocks(), before))
        return log

    def path(self, pattern):
        """A built file; `pattern` may start with $TARGET and contain wildcards, of which the newest match counts."""
        pattern = pattern.replace("$TARGET", self.toolchain.cargo_output)
        found = [p for p in self.directory.glob(pattern) if p.is_file() and os.access(p, os.X_OK)]
        if not found:
            raise Failure(f"{self.subject.name}: the build left no {pattern} in {self.directory}")
        return max(found, key=lambda p: p.stat().st_mtime_ns)


def clocks():
    """CPU seconds of all children that have ended, and wall seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, time.perf_counter()


def build(subject, toolchain, jobs=2, fresh=False):
    """Fetches, configures and builds. Returns the tree."""
    version = fetch.fetch(subject)
    tree = Tree(subject, toolchain, jobs)
    stamp = tree.directory.with_suffix(".built")
    recipe = [version, subject.configure, subject.build, toolchain.identity, toolchain.release_env]
    want = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()
    if not fresh and tree.directory.is_dir() and stamp.exists() and stamp.read_text() == want:
        return tree
    stamp.unlink(missing_ok=True)
    shutil.rmtree(tree.directory, ignore_errors=True)
    shutil.copytree(subject.source, tree.directory, symlinks=True)
    tree.run("configure", subject.configure)
    tree.run("build", subject.build, toolchain.release_env)
    stamp.write_text(want)
    return tree


def bench_program(subject, toolchain, jobs=2, env=(), again=False):
    """Builds what scripts/bench runs. Returns the tree and the program; `again` links it once more, with `env`."""
    tree = build(subject, toolchain, jobs)
    bench = subject.bench
    commands, program = bench.build, bench.program
    if bench.crate:
        program = "$TARGET/release/bench"
        commands = ["$CARGO build --release --manifest-path driver/Cargo.toml"]
        driver_crate(subject, tree.directory / "driver")
    stamp = tree.directory.with_suffix(".bench")
    if not again and stamp.exists() and stamp.stat().st_mtime_ns > tree.directory.with_suffix(".built").stat().st_mtime_ns:
        return tree, tree.path(program)
    built = tree.directory.with_suffix(".built")
    recipe = built.read_text()
    if again:
        # whoever is stopped from here on leaves a tree that is built anew
        built.unlink()
        unlink(tree, program)
        if not commands:
            commands = subject.build
    tree.run("bench", commands, {**toolchain.release_env, **dict(env)})
    built.write_text(recipe)
    stamp.touch()
    return tree, tree.path(program)


def driver_crate(subject, directory):
    """A crate that drives a library crate: its main file is in testdata/bench."""
    directory.mkdir(exist_ok=True)
    (directory / "Cargo.toml").write_text(
        f'[package]\nname = "bench"\nversion = "0.0.0"\nedition = "2021"\n[[bin]]\nname = "bench"\npath = "main.rs"\n'
        f'[dependencies]\n{subject.crate} = {{ path = ".." }}\n[workspace]\n')
    shutil.copy2(BENCH / subject.bench.crate, directory / "main.rs")


def unlink(tree, program):
    """Removes a program, so that its build links it again and compiles as little as possible."""
    path = tree.path(program)
    for copy in path.parent.glob(f"deps/{path.name}-*"):
        copy.unlink()
    path.unlink()
