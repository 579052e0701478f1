#!/usr/bin/env python3
"""Compares the imports of each target with its dependencies in Package.swift.

usage: Deploy/modules.py [PACKAGE-FOLDER...]     (default: this package, Tests/Examples and Tests/Benchmarks)
Reports imported modules that are not declared, declared dependencies that are not imported, and dependencies on targets that
Package.swift lists later, since data flows down that list. A dependency on a program needs no import, because tests start it.
Reports also libraries that link the parser of command lines, except the libraries that declare options.
Exit status 1 if something was found."""

import json
import os
import pathlib
import re
import subprocess
import sys

# Modules of the toolchain and of the C library.
PROVIDED = {
    "Dispatch", "Foundation", "FoundationEssentials", "FoundationNetworking", "FoundationXML", "Glibc", "Observation", "PackageDescription",
    "RegexBuilder", "Swift", "Synchronization", "Testing", "_Concurrency",
}
OPTIONS = "ArgumentParser"
# The libraries that declare options of commands.
DECLARING_OPTIONS = {"CommandHelp", "FleetCommand"}
IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)\n]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?"
    r"import\s+(?:(?:struct|class|enum|func|var|let|protocol|typealias)\s+)?(\w+)",
    re.MULTILINE,
)
# Text in quotation marks and comments contain examples.
QUIET = re.compile(r'#*"""(?:.*?)"""#*|/\*.*?\*/|//[^\n]*', re.DOTALL)


def imports(folder):
    """The modules that the Swift files of a folder import, each with one of the files."""
    found = {}
    for path in sorted(folder.rglob("*.swift")):
        for name in IMPORT.findall(QUIET.sub("", path.read_text())):
            found.setdefault(name, path)
    return found


def source_folder(package, target):
    if target.get("path"):
        return package / target["path"]
    return package / ("Tests" if target["type"] == "test" else "Sources") / target["name"]


def manifest(package):
    command = ["swift", "package", "--package-path", str(package), "dump-package"]
    environment = {**os.environ, "ODOGRAPH_BENCHMARKS": "1"}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)


def programs(manifest):
    """The targets and products that are started and not imported."""
    return {target["name"] for target in manifest["targets"] if target["type"] == "executable"} | {
        product["name"] for product in manifest["products"] if "executable" in product["type"]
    }


def linked(name, targets):
    """The targets and products that a target depends on, at any depth."""
    found = set()
    waiting = [name]
    while waiting:
        target = targets.get(waiting.pop(), {"dependencies": []})
        names = {next(iter(kind.values()))[0] for kind in target["dependencies"]} - found
        found |= names
        waiting += names
    return found


def faults(package, started):
    description = manifest(package)
    started = started | programs(description)
    targets = {target["name"]: target for target in description["targets"]}
    order = list(targets)
    for number, (name, target) in enumerate(targets.items()):
        declared = {next(iter(kind.values()))[0] for kind in target["dependencies"]}
        for other in sorted(declared & targets.keys()):
            if order.index(other) > number:
                yield f"{package}: {name} depends on {other}, which Package.swift lists later"
        is_library = target["type"] == "regular" and name not in DECLARING_OPTIONS
        if is_library and OPTIONS in linked(name, targets):
            yield f"{package}/Package.swift: {name} depends on {OPTIONS}; only programs and the libraries of their options may"
        folder = source_folder(package, target)
        if target["type"] == "system" or not any(folder.rglob("*.swift")):
            continue
        imported = imports(folder)
        for other in sorted(imported.keys() - declared - PROVIDED - {name}):
            yield f"{imported[other]}: imports {other}, which is not a dependency of {name} in Package.swift"
        for other in sorted(declared - imported.keys() - started):
            yield f"{package}/Package.swift: {name} does not import its dependency {other}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    packages = sys.argv[1:] or [root, root / "Tests/Examples", root / "Tests/Benchmarks"]
    started = programs(manifest(root))
    found = [fault for package in packages for fault in faults(pathlib.Path(package), started)]
    for fault in found:
        print(fault.replace(f"{root}/", ""))
    sys.exit(1 if found else 0)


main()
