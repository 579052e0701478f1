"""Compiles and runs the Swift examples. What an example prints must be what its comments `// prints …` promise."""

import json
import pathlib
import re
import subprocess

from blocks import REPOSITORY


class Compiler:
    """Links examples with the modules as the package's build left them."""

    def __init__(self, programs, folder):
        build = pathlib.Path(programs)
        target = json.loads(subprocess.check_output(["swift", "-print-target-info"]))["target"]["unversionedTriple"]
        headers = [*REPOSITORY.glob("Sources/C*/")]
        # Of modules in C the package manager writes the map itself.
        maps = sorted(build.glob("C*.build/module.modulemap"))
        flags = subprocess.check_output("pkg-config --cflags libcurl libpq libnl-genl-3.0".split(), text=True).split()
        libraries = subprocess.check_output(
            "pkg-config --libs expat libcurl libgps libiio libmosquitto libnl-genl-3.0 libpq librabbitmq libsystemd openssl sqlite3 zlib".split(),
            text=True).split()
        # The agent's own is no library: an object of it that has a symbol by chance would want all that it is linked with.
        modules = {path.name for path in (REPOSITORY / "Sources").iterdir()} - {"AgentCore", "odograph", "odographd"}
        # Of swift-collections, what our modules link.
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
        """The objects of a module's present sources: those of moved and deleted files stay in the folder."""
        listing = folder / "sources"
        sources = listing.read_text().splitlines() if listing.exists() else []
        names = {pathlib.PurePath(source.strip("'")).name for source in sources}
        return [path for path in folder.rglob("*.o") if not names or path.name.removesuffix(".o") in names]

    def fault(self, block, source, room, environment):
        """What is wrong with an example; None when it does as it says."""
        path = room / "main.swift"
        path.write_text(source)
        compiled = subprocess.run(["swiftc", path, "-o", room / "example", *self.arguments],
                                  capture_output=True, text=True, timeout=600)
        if compiled.returncode:
            return f"{block.place}: does not compile:\n{compiled.stdout}{compiled.stderr}"
        try:
            ran = subprocess.run([room / "example"], cwd=room, env=environment, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return f"{block.place}: does not end"
        if ran.returncode:
            return f"{block.place}: ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
        promised = re.findall(r"// prints (.*)$", block.text, re.M)
        if promised and ran.stdout.splitlines() != promised:
            return f"{block.place}: prints\n{ran.stdout}rather than\n" + "\n".join(promised)
        return None
