"""Toolchains: each is a directory with `cc`, `c++` that a build system takes for a compiler, and an environment for cargo.
A recipe is the same for all of them, so that what differs between two builds is the toolchain alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from .place import BENCH, ROOT, TARGET, Failure, llvm, output

# What each plain toolchain adds to `clang -flto=full` and to rustc.
PLAIN = {
    "plain": ([], []),
    # clang would else link a whole sanitizer runtime that the counters do not need
    "inline-8bit": (["-fsanitize-coverage=inline-8bit-counters", "-fno-sanitize-link-runtime"],
                    ["-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=3",
                     "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters"]),
    "profile": (["-fprofile-instr-generate"], ["-Cinstrument-coverage"]),
    # rustc has no such thing
    "dfsan": (["-fsanitize=dataflow"], []),
}
NAMES = ["unseen", *PLAIN]

# What the environment may say about how the toolchain unseen builds: another choice is another build.
CHOICES = ["UNSEEN_BUILD", "UNSEEN_LINK_LEVEL", "UNSEEN_LTO", "UNSEEN_EXCLUDE", "UNSEEN_STD", "UNSEEN_WATCH"]
# What a recipe must not inherit.
UNSET = ["UNSEEN", "UNSEEN_DIR", "UNSEEN_RUN", "UNSEEN_COVER", "RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET",
         "CMAKE_TOOLCHAIN_FILE", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS"]


@dataclass
class Toolchain:
    """How a subject is built: the environment of its recipes and what names this exact toolchain."""
    name: str
    env: dict[str, str]
    release_env: dict[str, str]
    identity: str
    tools: Path | None = None
    cargo_output: str = "target"


def get(name, tools=None):
    """The toolchain of that name; `tools` is the directory of the unseen tools."""
    if name == "unseen":
        return unseen(Path(tools).resolve() if tools else TARGET / "release")
    if name in PLAIN:
        return plain(name)
    raise Failure(f"no toolchain {name}: one of {', '.join(NAMES)}")


def unseen(tools):
    for tool in ("unseen", "unseen-clang", "unseen-clang++", "cargo-unseen", "libunseen_pass.so", "libunseen_rt.a", "libunseen_malloc.so"):
        if not (tools / tool).exists():
            raise Failure(f"{tools / tool} is missing: run scripts/build")
    env = {"CC": str(tools / "unseen-clang"), "CXX": str(tools / "unseen-clang++"), "CARGO": "cargo unseen",
           "PATH": f"{tools}:{os.environ['PATH']}"}
    for file in (tools / "../../driver/share/unseen.cmake", tools / "../share/unseen/unseen.cmake"):
        # CMake would else take the archiver of any LLVM on the PATH
        if file.exists():
            env["CMAKE_TOOLCHAIN_FILE"] = str(file.resolve())
    files = [tools / name for name in ("unseen", "libunseen_pass.so", "libunseen_rt.a")]
    identity = " ".join(f"{file.name}:{file.stat().st_mtime_ns}" for file in files)
    identity += "".join(f" {name}={os.environ[name]}" for name in CHOICES if name in os.environ)
    return Toolchain("unseen", env, {}, identity, tools)


def plain(name):
    prefix = llvm()
    clang_flags, rustc_flags = PLAIN[name]
    home = ROOT / "toolchain" / name
    home.mkdir(parents=True, exist_ok=True)
    stub = ""
    if name == "inline-8bit":
        # the counters announce themselves to a fuzzer's runtime; ours ignores them
        stub = str(home / "stub.o")
        if not os.path.exists(stub):
            output([prefix / "bin/clang", "-c", "-O2", BENCH / "sancov-stub.c", "-o", stub])
    # $LAB_LINKER lets scripts/bench link put itself between compiler and linker
    linker = f"--ld-path=${{LAB_LINKER:-{prefix}/bin/ld.lld}}"
    kinds = 'link=1; for a; do case $a in -c|-S|-E|-M|-MM|-fsyntax-only|--version|-v|-print-*|-dump*) link=;; esac; done'
    flags = " ".join(["-flto=full", *clang_flags])
    for shim, compiler in (("cc", "clang"), ("c++", "clang++")):
        script(home / shim, kinds, f'[ -z "$link" ] || set -- {linker} "$@" {stub}', f'exec {prefix}/bin/{compiler} {flags} "$@"')
    script(home / "rust-link", f'exec {prefix}/bin/clang {linker} "$@" {stub}')
    for tool in ("llvm-ar", "llvm-ranlib", "llvm-nm"):
        # CMake looks beside the compiler first, and would else take those of an older LLVM
        if not (home / tool).exists():
            (home / tool).symlink_to(prefix / "bin" / tool)
    env = {"CC": str(home / "cc"), "CXX": str(home / "c++"), "CARGO": "cargo", "LLVM_PROFILE_FILE": "/dev/null"}
    # With a target named, the flags reach neither build scripts nor proc-macros. Link-time optimisation is left to lld, as in ours.
    flags = ["-Clinker-plugin-lto", f"-Clinker={home}/rust-link", *rustc_flags]
    host = output(["rustc", "--print", "host-tuple"]).strip()
    release = {"CARGO_BUILD_TARGET": host, "CARGO_PROFILE_RELEASE_LTO": "fat", "RUSTFLAGS": " ".join(flags)}
    return Toolchain(name, env, release, f"{prefix} {clang_flags} {flags}", None, f"target/{host}")


def script(path, *lines):
    """Writes a shell script, if it is not there as it should be: another build may be using it."""
    text = "\n".join(["#!/bin/sh", *lines]) + "\n"
    if path.exists() and path.read_text() == text:
        return
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o755)
    new.replace(path)
