"""Fetches sources by package name: Debian source packages and crates. Nothing outside the build directory is changed
(but cargo's own cache), and no mirror is named here: both tools ask where this machine asks."""

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

from .place import ROOT, Failure, output


def fetch(subject):
    """Puts the pristine source into place, unless it is there. Returns its version."""
    stamp = subject.source.with_suffix(".fetched")
    want = json.dumps([subject.debian, subject.beside, subject.crate, subject.version])
    if stamp.exists() and subject.source.exists():
        held, version = stamp.read_text().splitlines()
        if held == want:
            return version
    shutil.rmtree(subject.source, ignore_errors=True)
    subject.source.parent.mkdir(parents=True, exist_ok=True)
    if subject.crate:
        version = crate(subject.crate, subject.version, subject.source)
    else:
        version = debian(subject.debian, subject.source)
        for package in subject.beside:
            (subject.source / "beside").mkdir(exist_ok=True)
            debian(package, subject.source / "beside" / package)
    stamp.write_text(f"{want}\n{version}\n")
    return version


def apt(tool, *arguments, cwd=None):
    """Runs apt with a deb-src list and state of our own."""
    state = ROOT / "apt"
    return output([tool, "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={state}/parts",
                   "-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}/cache",
                   # the build directory may lie where apt's own user cannot write
                   "-o", "APT::Sandbox::User=root", *arguments], cwd=cwd)


def prepare_apt():
    """Writes the private deb-src list, once: the system's own Debian archives, but for sources."""
    state = ROOT / "apt"
    if (state / "ready").exists():
        return
    for part in ("parts", "lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    entries = list(deb822_entries()) + list(one_line_entries())
    if not entries:
        raise Failure("no Debian archive in /etc/apt/sources.list or sources.list.d from which sources could be fetched")
    (state / "parts" / "source.sources").write_text("\n".join(entries))
    apt("apt-get", "update")
    (state / "ready").touch()


def deb822_entries():
    for file in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
        for paragraph in re.split(r"\n\s*\n", file.read_text()):
            lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
            fields = dict(re.findall(r"^(\S+):\s*(.*)$", "\n".join(lines), re.M))
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes").lower() != "no":
                # other architectures' indexes play no part in sources
                kept = [line for line in lines if not re.match(r"(Types|Architectures):", line)]
                yield "\n".join(["Types: deb-src", *kept]) + "\n"


def one_line_entries():
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.list"))]
    for file in files:
        for line in file.read_text().splitlines() if file.exists() else []:
            found = re.match(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+([^#]+)", line)
            if found:
                options, uri, suite, components = found.groups()
                key = re.search(r"signed-by=(\S+)", options or "")
                entry = f"Types: deb-src\nURIs: {uri}\nSuites: {suite}\nComponents: {components.strip()}\n"
                yield entry + (f"Signed-By: {key[1]}\n" if key else "")


def debian(package, destination):
    """Unpacks a Debian source package, patches applied. Returns its version."""
    for tool in ("apt-get", "dpkg-source"):
        if not shutil.which(tool):
            raise Failure(f"{tool} is missing: run scripts/setup subjects")
    prepare_apt()
    rows = [row.split("|") for row in apt("apt-cache", "madison", package).splitlines()]
    # newest first; an archive's index may name a version that its pool does not hold yet
    versions = list(dict.fromkeys(row[1].strip() for row in rows if row[2].strip().endswith("Sources")))
    versions.sort(key=debian_order, reverse=True)
    if not versions:
        raise Failure(f"the Debian archives of this machine have no source package {package}")
    work = ROOT / "apt" / "work" / package
    for version in versions:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            apt("apt-get", "--only-source", "source", f"{package}={version}", cwd=work)
        except Failure as failure:
            refused = failure
            continue
        unpacked, = (path for path in work.iterdir() if path.is_dir())
        shutil.move(unpacked, destination)
        shutil.rmtree(work)
        return version
    raise refused


@functools.cmp_to_key
def debian_order(left, right):
    """Sorts versions as Debian does."""
    less = subprocess.run(["dpkg", "--compare-versions", left, "lt", right]).returncode == 0
    return -1 if less else int(left != right)


def crate(name, version, destination):
    """Takes one crate out of the registry, as published: with its own lock file and tests."""
    if not shutil.which("cargo"):
        raise Failure("cargo is missing: install a stable Rust toolchain")
    work = ROOT / "crates" / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "lib.rs").touch()
    (work / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
        f'[dependencies]\n{name} = "={version}"\n[workspace]\n')
    # vendoring is the one documented way to get at a crate's source, programs included
    output(["cargo", "vendor", "--quiet", "--versioned-dirs", "vendor"], cwd=work)
    shutil.move(work / "vendor" / f"{name}-{version}", destination)
    shutil.rmtree(work)
    (destination / ".cargo-checksum.json").unlink(missing_ok=True)
    manifest = destination / "Cargo.toml"
    if "\n[workspace]" not in manifest.read_text():
        # it lies below our own workspace, and is no part of it
        with open(manifest, "a") as file:
            file.write("\n[workspace]\n")
    output(["cargo", "fetch", "--quiet"], cwd=destination)
    return version
