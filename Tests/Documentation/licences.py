"""Compares Deploy/THIRD-PARTY.md with Package.swift and with the libraries that the programs load.

usage: licences.py PROGRAMS-DIR   prints missing names, with status 1
"""

import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def needed(program):
    """Yields the shared libraries that a program loads, without versions and without the Swift toolchain's."""
    dump = subprocess.check_output(["readelf", "-d", program], text=True)
    for name in re.findall(r"\(NEEDED\).*\[(.*?)\.so", dump):
        if not re.match(r"lib(swift|Foundation|_Foundation|dispatch|BlocksRuntime)", name):
            yield re.sub(r"-x86-64|-aarch64", "", name)


def main(programs):
    text = (REPOSITORY / "Deploy/THIRD-PARTY.md").read_text()
    manifest = (REPOSITORY / "Package.swift").read_text()
    names = {url.rsplit("/", 1)[1] for url in re.findall(r'url: "([^"]*)"', manifest)}
    names |= {path.name for path in (pathlib.Path(programs).parents[1] / "checkouts").iterdir()}
    for package in re.findall(r'pkgConfig: "([^"]*)"', manifest):
        names.add(package if "lib" in package else "lib" + package)
    for program in ("odograph", "odographd"):
        names |= set(needed(pathlib.Path(programs, program)))
    missing = [name for name in sorted(names) if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    for name in missing:
        print(f"Deploy/THIRD-PARTY.md does not list {name}", file=sys.stderr)
    print(f"named,{len(names) - len(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: licences.py PROGRAMS-DIR")
    sys.exit(main(sys.argv[1]))
