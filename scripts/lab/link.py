"""Records links, so that they can be repeated and measured. A recorder takes the linker's place in an ordinary build; when
the wanted program is linked it keeps the command line, the environment and a copy of every file that is named there
(compilers remove theirs), and then links as it was asked to.

Run as a program this file is that recorder: $LAB_LINK is a JSON object with the real linker, the wanted name and a directory."""

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

# What unseen-clang and unseen-rustc add to a link, and the levels of optimisation that plain compilers ask of lld.
OURS = re.compile(r"--load-pass-plugin=|--undefined=__unseen_|--export-dynamic-symbol=__unseen_|--why-extract=|--dependency-file=")
OUR_FILES = re.compile(r"libunseen_rt\.a$|inputs\.o$")
LEVEL = re.compile(r"(--lto-|-plugin-opt=)(CG)?O\d$")


def recorder(toolchain, program, prefix, home):
    """Prepares a recorder. Returns what to add to the environment of the build."""
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
    env = {"LAB_LINK": json.dumps({"linker": str(prefix / "bin" / "ld.lld"), "wanted": program.name, "home": str(home)})}
    return env | ({"UNSEEN_LLVM": str(home / "llvm")} if toolchain.tools else {"LAB_LINKER": str(linker)})


class Link:
    """One link that can be repeated."""

    def __init__(self, argv, env, cwd, out):
        self.argv, self.env, self.cwd, self.out = argv, env, cwd, out

    @staticmethod
    def recorded(home):
        """What a recorder left in its directory, or nothing."""
        file = home / "link.json"
        return Link(**json.loads(file.read_text())) if file.exists() else None

    def plain(self, other):
        """The same objects without anything of ours, at the level of another link."""
        kept = [word for word in self.argv if not (OURS.match(word) or OUR_FILES.search(word) or LEVEL.match(word))]
        env = {name: value for name, value in self.env.items() if name not in ("LD_PRELOAD", "MIMALLOC_PURGE_DELAY")}
        return Link(kept + [word for word in other.argv if LEVEL.match(word)], env, self.cwd, self.out)

    def run(self):
        """CPU seconds, wall seconds and megabytes of one link; nothing if it failed."""
        pid = os.fork()
        if not pid:
            try:
                os.chdir(self.cwd)
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.execve(self.argv[0], self.argv, self.env)
            finally:
                os._exit(127)
        start = time.perf_counter()
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        Path(self.out).unlink(missing_ok=True)
        return None if status else (usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024)


def keep(words, output, home):
    """The words of a command line with copies of the files they name, which stay."""
    files = home / "files"
    files.mkdir()
    kept = []
    for number, word in enumerate(words):
        option, equals, path = word.partition("=") if word.startswith("-") else ("", "", word)
        if word == output:
            word = str(home / "out")
        elif option in ("--why-extract", "--dependency-file"):
            word = f"{option}={home / option.lstrip('-')}"
        elif path and os.path.isfile(path) and not OURS.match(word):
            copy = files / f"{number}-{os.path.basename(path)}"
            shutil.copy2(path, copy)
            word = f"{option}{equals}{copy}"
        kept.append(word)
    return kept


def record(job, words):
    argv = [job["linker"], *words]
    output = words[words.index("-o") + 1] if "-o" in words else ""
    home = Path(job["home"])
    # cargo links NAME-HASH
    if os.path.basename(output).split("-")[0] == job["wanted"].split("-")[0] and not (home / "link.json").exists():
        kept = {"argv": [job["linker"], *keep(words, output, home)], "env": dict(os.environ), "cwd": os.getcwd(), "out": str(home / "out")}
        (home / "link.json").write_text(json.dumps(kept))
    os.execv(argv[0], argv)


if __name__ == "__main__":
    record(json.loads(os.environ["LAB_LINK"]), sys.argv[1:])
