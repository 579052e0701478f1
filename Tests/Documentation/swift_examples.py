"""Compiles and runs the Swift examples. The output of an example must be that of its comments `// prints …`."""

import json
import pathlib
import re
import subprocess

from blocks import REPOSITORY


class Compiler:
    """Links examples with the modules of the package's build."""

    def __init__(self, programs, folder):
        build = pathlib.Path(programs)
        target = json.loads(subprocess.check_output(["swift", "-print-target-info"]))["target"]["unversionedTriple"]
        headers = [*REPOSITORY.glob("Sources/C*/")]
        # The package manager writes module maps for C modules without one.
        maps = sorted(build.glob("C*.build/module.modulemap"))
        flags = subprocess.check_output("pkg-config --cflags libcurl libpq libnl-genl-3.0".split(), text=True).split()
        libraries = subprocess.check_output(
            "pkg-config --libs expat libcurl libgps libiio libmosquitto libnl-genl-3.0 libpq librabbitmq libsystemd openssl sqlite3 zlib".split(),
            text=True).split()
        # Without the agent's modules, which are no libraries: a used object of them would require all their
        # dependencies.
        modules = {path.name for path in (REPOSITORY / "Sources").iterdir()} - {"AgentCore", "odograph", "odographd"}
        # Modules of swift-collections that the libraries link.
        modules |= {"DequeModule", "InternalCollectionsUtilities"}
        objects = [path for module in sorted(modules) for path in self.objects(build / f"{module}.build")]
        self.archive = pathlib.Path(folder) / "libmodules.a"
        subprocess.run(["ar", "rcs", self.archive, *objects], check=True)
        self.arguments = ["-swift-version", "6", "-warnings-as-errors", "-target", target, "-I", build / "Modules",
                          *[word for header in headers for word in ("-I", header)],
                          *[word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")],
                          *flags, self.archive, *libraries, "-lstdc++"]

    @staticmethod
    def objects(folder):
        """Returns the objects of a module's current sources; the folder may also contain those of moved and deleted files."""
        listing = folder / "sources"
        sources = listing.read_text().splitlines() if listing.exists() else []
        names = {pathlib.PurePath(source.strip("'")).name for source in sources}
        return [path for path in folder.rglob("*.o") if not names or path.name.removesuffix(".o") in names]

    def fault(self, block, source, room, environment):
        """Returns the fault of an example; None if there is none."""
        path = room / "main.swift"
        path.write_text(source)
        compiled = subprocess.run(["swiftc", path, "-o", room / "example", *self.arguments],
                                  capture_output=True, text=True, timeout=600)
        if compiled.returncode:
            return f"{block.place}: does not compile:\n{compiled.stdout}{compiled.stderr}"
        try:
            ran = subprocess.run([room / "example"], cwd=room, env=environment, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return f"{block.place}: timed out"
        if ran.returncode:
            return f"{block.place}: exited with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
        promised = re.findall(r"// prints (.*)$", block.text, re.M)
        if promised and ran.stdout.splitlines() != promised:
            return f"{block.place}: prints\n{ran.stdout}instead of\n" + "\n".join(promised)
        return None
