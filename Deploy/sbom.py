#!/usr/bin/env python3
"""Prints the SBOM of a release in SPDX 2.3 (JSON): linked and loaded components of both programs of an architecture.

usage: Deploy/sbom.py --resolved Package.resolved ODOGRAPHD.deb ODOGRAPH.deb
  --resolved   the versions of the Swift packages in the programs
Environment: SOURCE_DATE_EPOCH, the date of the document

Names, licences and what each program contains come from Deploy/THIRD-PARTY.md, revisions of Swift packages from
Package.resolved, Debian's libraries from the packages' dependencies. Fails if these sources contradict each other:
another version, a Swift package or a library without a row, a licence without an SPDX expression.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("odographd", "odograph")
# SPDX expressions for licences that the table describes in prose.
EXPRESSIONS = {
    "Apache-2.0 with Runtime Library Exception": "Apache-2.0 WITH Swift-exception",
    "Apache-2.0 (with the parser llhttp, MIT)": "Apache-2.0 AND MIT",
    "Apache-2.0 (with BoringSSL: OpenSSL, ISC)": "Apache-2.0 AND OpenSSL AND ISC",
    "EPL-2.0 or EDL-1.0 (BSD-3-Clause)": "EPL-2.0 OR BSD-3-Clause",
    "BSD-3-Clause, parts ISC": "BSD-3-Clause AND ISC",
    "GPL-3.0-or-later with GCC Runtime Library Exception": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "LGPL-3.0-or-later or GPL-2.0-or-later": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "AFL-2.1 or GPL-2.0-or-later": "AFL-2.1 OR GPL-2.0-or-later",
    # SQLite's dedication to the public domain.
    "public domain": "blessing",
}
IDENTIFIERS = {
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "LGPL-2.1-only", "LGPL-2.1-or-later", "MIT", "OLDAP-2.8",
    "PostgreSQL", "Unicode-3.0", "Zlib", "curl",
}


def fail(message):
    sys.exit(f"sbom: {message}")


def expression(licence):
    if licence in IDENTIFIERS:
        return licence
    return EXPRESSIONS.get(licence) or fail(f'the licence "{licence}" in Deploy/THIRD-PARTY.md has no SPDX expression here')


def contained_in(cell):
    """Returns the programs in a cell of the column "in"."""
    programs = PROGRAMS if cell.startswith("both") else tuple(re.findall(r"`(\w+)`", cell))
    return programs or fail(f'"{cell}" in Deploy/THIRD-PARTY.md names no program')


class Notices:
    """The tables of Deploy/THIRD-PARTY.md."""

    def __init__(self):
        text = (REPOSITORY / "Deploy/THIRD-PARTY.md").read_text(encoding="utf-8")
        linked, loaded = (re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
                          for title in ("Linked into the programs", "Loaded from the system"))
        # name, version, licence, programs
        self.linked = [(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", name), version, licence, contained_in(programs))
                       for name, version, licence, programs in self.rows(linked, 4)]
        self.unlinked = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", re.search(r"nothing is linked of (.*?)\(", linked, re.S)[1]))
        self.arm64_runtime = re.search(r"For arm64 the runtime is .*?, ([\d.]+\d)", linked, re.S)[1]
        # Debian package -> name, version, licence, programs
        self.loaded = {}
        for name, packages, versions, licences, programs in self.rows(loaded, 5):
            packages, versions, licences = packages.split(", "), versions.split(", "), licences.split("; ")
            for index, package in enumerate(packages):
                version = versions[index if len(versions) == len(packages) else 0]
                licence = licences[index if len(licences) == len(packages) else 0]
                self.loaded[package] = name, version, licence, contained_in(programs)

    @staticmethod
    def rows(text, columns):
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) == columns and cells[1] not in ("version", "Debian package", "---"):
                yield cells


def field(package, name):
    return subprocess.check_output(["dpkg-deb", "-f", package, name], text=True).strip()


def dependencies(package):
    """Returns the packages that a package depends on, with version constraints; of alternatives, only the first."""
    found = {}
    for relation in ("Pre-Depends", "Depends"):
        for entry in filter(None, field(package, relation).split(",")):
            name, versions = re.match(r"\s*([a-z0-9+.-]+)(?::\w+)?\s*(\(.*?\))?", entry).groups()
            found.setdefault(name, []).append((versions or "").strip("()"))
    return found


class Document:
    def __init__(self, architecture, version, key):
        date = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
        self.architecture = architecture
        self.content = {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"odograph-{version}-{architecture}",
            "documentNamespace": f"https://odograph.example.org/spdx/odograph-{version}-{architecture}-{key}",
            "creationInfo": {
                "created": f"{date:%Y-%m-%dT%H:%M:%SZ}",
                "creators": ["Organization: Odograph developers", f"Tool: odograph-sbom-{version}"],
            },
            "packages": [],
            "relationships": [],
        }

    def add(self, kind, name, version, licence, purpose, location="NOASSERTION", supplier="NOASSERTION", purl=None, **more):
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{kind}-{name}").strip("-")
        if any(package["SPDXID"] == identifier for package in self.content["packages"]):
            return identifier
        package = {
            "SPDXID": identifier, "name": name, "versionInfo": version, "supplier": supplier, "downloadLocation": location,
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", "primaryPackagePurpose": purpose, **more}
        if purl:
            package["externalRefs"] = [
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
        self.content["packages"].append(package)
        return identifier

    def relate(self, one, kind, other, comment=None):
        relation = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if comment:
            relation["comment"] = comment
        self.content["relationships"].append(relation)

    def debian(self, package, version, licence):
        return self.add(
            "deb", package, version, licence, "LIBRARY", supplier="Organization: Debian",
            purl=f"pkg:deb/debian/{package.replace('+', '%2B')}?arch={self.architecture}&distro=debian-12")


def pins_of(path):
    with open(path, encoding="utf-8") as file:
        return {pin["identity"]: (pin["location"], pin["state"]) for pin in json.load(file)["pins"]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].removeprefix("usage: "))
    parser.add_argument("--resolved", required=True)
    parser.add_argument("packages", nargs=2)
    arguments = parser.parse_args()
    notices, pins = Notices(), pins_of(arguments.resolved)
    version, architecture = (field(arguments.packages[0], name) for name in ("Version", "Architecture"))
    hashes = [hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() for path in arguments.packages]
    document = Document(architecture, version, hashlib.sha256("".join(hashes).encode()).hexdigest()[:16])

    programs = {}
    for path, checksum in zip(arguments.packages, hashes):
        name = field(path, "Package")
        programs[name] = document.add(
            "program", name, version, "Apache-2.0", "APPLICATION", supplier="Organization: Odograph developers",
            packageFileName=os.path.basename(path), checksums=[{"algorithm": "SHA256", "checksumValue": checksum}])
        document.relate("SPDXRef-DOCUMENT", "DESCRIBES", programs[name])
    if set(programs) != set(PROGRAMS):
        fail(f"packages of {' and '.join(PROGRAMS)} are required, not of {' and '.join(programs)}")

    def swift_package(name, licence):
        location, state = pins[name]
        number, path = state.get("version") or state["revision"], location.removesuffix(".git").removeprefix("https://")
        return document.add(
            "swift", name, number, licence, "LIBRARY", purl=f"pkg:swift/{path}@{number}",
            location=f"git+{location}@{state['revision']}")

    named = set()
    for row, number, licence, contained in notices.linked:
        name = row.split(" (")[0]
        if name in pins:
            named.add(name)
            resolved = pins[name][1].get("version")
            if resolved != number:
                fail(f"{arguments.resolved} has {name} {resolved}, Deploy/THIRD-PARTY.md {number}; correct the row, or resolve again")
            identifier = swift_package(name, expression(licence))
        else:
            if name.startswith("Swift runtime") and architecture == "arm64":
                number = notices.arm64_runtime
            identifier = document.add("linked", name.split(",")[0], number, expression(licence), "LIBRARY", comment=row)
        for program in contained:
            document.relate(programs[program], "STATIC_LINK", identifier)
    for name in sorted(notices.unlinked & set(pins)):
        named.add(name)
        document.relate(swift_package(name, "Apache-2.0"), "BUILD_DEPENDENCY_OF", programs["odograph"], "resolved, not linked")
    if missing := sorted(set(pins) - named):
        fail(f"Deploy/THIRD-PARTY.md has no version of {', '.join(missing)}; add a row, or name it under \"nothing is linked of\"")

    direct = set()
    for path in arguments.packages:
        program = programs[field(path, "Package")]
        for name, versions in sorted(dependencies(path).items()):
            direct.add(name)
            comment = "Depends: " + ", ".join(f"{name} ({bound})" if bound else name for bound in versions)
            # Package names with a number are shared libraries.
            if name in notices.loaded:
                _, number, licence, _ = notices.loaded[name]
                document.relate(program, "DYNAMIC_LINK", document.debian(name, number, expression(licence)), comment)
            elif re.match(r"lib.*\d", name):
                fail(f"Deploy/THIRD-PARTY.md has no row for {name}, which {os.path.basename(path)} depends on")
            else:
                document.relate(program, "DEPENDS_ON", document.debian(name, "NOASSERTION", "NOASSERTION"), comment)
    for name, (row, number, licence, contained) in notices.loaded.items():
        if name not in direct:
            identifier = document.debian(name, number, expression(licence))
            for program in contained:
                document.relate(programs[program], "DEPENDS_ON", identifier, row)

    json.dump(document.content, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
