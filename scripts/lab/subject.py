"""The subjects: testdata/subjects.toml as plain data."""

import difflib
import tomllib
from dataclasses import dataclass, field

from .place import REPO, ROOT, Failure


@dataclass
class Bench:
    """How scripts/bench runs a subject; see the head of subjects.toml."""
    run: list[str]
    size: tuple[int, int]
    program: str = ""
    crate: str = ""
    build: list[str] = field(default_factory=list)
    stdin: str | None = None


@dataclass
class Subject:
    """One real program."""
    name: str
    language: str
    build: list[str]
    test: list[str]
    binary: str
    bench: Bench
    debian: str | None = None
    crate: str | None = None
    version: str | None = None
    beside: list[str] = field(default_factory=list)
    configure: list[str] = field(default_factory=list)
    unprivileged: bool = False
    small: bool = False

    @property
    def source(self):
        """The pristine source tree."""
        return ROOT / "source" / self.name

    @property
    def rust(self):
        return self.language == "rust"


def load():
    """All subjects, by name, in the order of the file."""
    path = REPO / "testdata" / "subjects.toml"
    with open(path, "rb") as file:
        table = tomllib.load(file)
    subjects = {}
    for name, entry in table.items():
        try:
            entry["bench"] = Bench(**entry["bench"])
            subject = Subject(name=name, **entry)
        except (TypeError, KeyError) as error:
            raise Failure(f"{path}: [{name}]: {error}") from None
        if bool(subject.debian) == bool(subject.crate):
            raise Failure(f"{path}: [{name}]: exactly one of `debian` and `crate` is wanted")
        if subject.crate and not subject.version:
            raise Failure(f"{path}: [{name}]: a crate needs its `version`")
        subjects[name] = subject
    return subjects


def choose(names, small=False):
    """The named subjects, or all (or all small ones) where none is named."""
    subjects = load()
    for name in names:
        if name not in subjects:
            near = difflib.get_close_matches(name, subjects, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise Failure(f"no subject {name}{hint} (scripts/subjects list shows them)")
    return [s for s in subjects.values() if (s.name in names if names else s.small or not small)]
