"""Runs every command, configuration and Swift example of the documentation.

Words after a block's language are options. After sh: `status=1,2`, the expected exit statuses, and NAME=VALUE, variables of the
environment, for examples of errors. `text said` contains the output of the previous commands: each of its lines must occur in it,
and "…" matches any text.

usage: examples.py PROGRAMS-DIR POSTGRES-URL   prints "language,count" lines; faults go to standard error, status 1
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import blocks
import swift_examples
import world

sys.path.insert(0, str(blocks.REPOSITORY / "Tests/WireContract"))
import contract  # noqa: E402

# Only these programs run, since no example may change the machine that runs the test.
HARMLESS = {"./certificates.sh", "cat", "echo", "grep", "jq", "mosquitto_pub", "mosquitto_rr", "mosquitto_sub", "odograph",
            "odographd", "pg_dump", "pg_restore", "psql", "sqlite3"}
# Commands that change shared state or open the same store run serially.
ALONE = re.compile(r"\b(regions|config|command|odographd|mosquitto_\w+)\b")

# Interpreters, which read a program from standard input.
INTERPRETERS = {"python": ["/usr/bin/python3", "-"], "javascript": ["node", "-"], "sql": ["sqlite3", "-bail", ":memory:"]}


class Exceptions:
    """The list of examples that do not run."""

    def __init__(self):
        text = (pathlib.Path(__file__).parent / "not-run.txt").read_text()
        lines = [line for line in text.split("\n") if line and not line.startswith("#")]
        self.entries = [line.split(" | ")[0] for line in lines]
        self.used = set()

    def cover(self, what):
        for entry in self.entries:
            if what.startswith(entry):
                self.used.add(entry)
                return True
        return False


def stranger(command):
    """Returns the first program in a command line that is not harmless, or a file outside its folder that it would write;
    otherwise None."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()")
    words.whitespace_split = True
    is_first, is_target = True, False
    for word in words:
        if set(word) <= set("|&;()"):
            is_first = True
        elif set(word) <= set("<>"):
            is_target = ">" in word
        elif is_target:
            if word.startswith(("/", "~")) or ".." in word:
                return word
            is_target = False
        elif is_first and not re.fullmatch(r"[A-Z_]+=.*", word):
            # curl may access only the server of this test.
            is_harmless = word in HARMLESS or word == "curl" and "http://fleet.example:8080/" in command
            if not is_harmless or "$(" in command or "`" in command:
                return word
            is_first = False
    return None


class Examples:
    def __init__(self, world, programs):
        self.world, self.programs = world, programs
        self.exceptions = Exceptions()
        self.contract = contract.Contract()
        self.compiler = swift_examples.Compiler(programs, world.folder)
        self.counts = {}
        self.rooms = 0

    def room(self, beside=None):
        self.rooms += 1
        return self.world.room(str(self.rooms), beside)

    def together(self, place):
        """Returns the folder for all examples of a page, which run in order."""
        beside = blocks.REPOSITORY / place.partition(":")[0]
        return self.room(beside.parent if beside.is_relative_to(blocks.REPOSITORY / "Config") else None)

    def shell(self, block, room):
        log = room / ".statuses"
        log.unlink(missing_ok=True)
        given = dict(word.split("=", 1) for word in block.detail.split() if "=" in word)
        expected = set(given.pop("status", "").split(",")) - {""}
        script = ["exec 2>&1"] + [f'export {name}="{value}"' for name, value in given.items()]
        for command in block.text.replace("\\\n", " ").split("\n"):
            if not command.strip() or command.lstrip().startswith("#") or self.exceptions.cover(command.strip()):
                continue
            if word := stranger(command):
                return f"{block.place}: {command.strip()}: {word} may change this machine; list it in not-run.txt, or as harmless"
            self.count("commands")
            # The programs of this project record their statuses themselves. This is for all others; grep may find no
            # match.
            fine = "01" if "grep" in command else "0"
            # curl's output goes to jq, which does not fail if it is empty.
            script.append(("set -o pipefail; " if command.startswith("curl ") else "") + self.world.here(command))
            if "odograph" not in command.split("#")[0] and not expected:
                script.append(f'status=$?; [[ {fine} = *$status* ]] || echo "$status other" >>"$STATUS_LOG"')
        ran = subprocess.run(["bash", "-c", "\n".join(script)], cwd=room, env=self.world.environment(room),
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800)
        (room / ".said").write_text(ran.stdout)
        for line in log.read_text().splitlines() if log.exists() else []:
            status, _, command = line.partition(" ")
            if expected:
                if status not in expected:
                    return f"{block.place}: {command}: status {status}, not {block.detail}\n{ran.stdout}"
                continue
            # Comparisons may differ, and `odographd check` finds no sensors on this machine.
            fine = {"0"} | ({"1"} if " diff" in command else set()) | ({"2"} if command.startswith("odographd check") else set())
            if status not in fine:
                return f"{block.place}: {command}: status {status}\n{ran.stdout}"
        return None

    def text(self, block, room):
        """Compares a block with the output of the previous one."""
        said = (room / ".said").read_text()
        for line in block.text.splitlines():
            if not re.search(".*".join(re.escape(part) for part in line.split("…")), said):
                return f"{block.place}: not printed: {line}\n{said}"
        self.count("outputs")
        return None

    def toml(self, block, room):
        self.count("configurations")
        text = self.world.here(block.text)
        path = room / ("serve.toml" if block.detail == "serve" else "example.toml")
        path.write_text(text)
        return self.configuration(path, block.place, block.detail == "profile", room)

    def configuration(self, path, place, is_profile, room):
        if is_profile:
            # Any command reads the file. An unknown profile is an error that lists the existing ones.
            command = ["odograph", "check", "--profile-file", path, "--profile", "none such"]
            good = lambda status, output: "there is no profile" in output or "it has " in output  # noqa: E731
        elif path.name == "serve.toml":
            # The server stores data beside its configuration, so that this starts it with a copy.
            path = pathlib.Path(shutil.copy(path, room / "tried-serve.toml"))
            command = ["odograph", "serve", "--config", path, "--listen", "127.0.0.1:0", "--seconds", "0"]
            good = lambda status, output: status == 0  # noqa: E731
        else:
            text = path.read_text()
            uses_tls = re.search(r"^(ca_file|certificate_file|psk_file) *=|^broker *=.*mqtts:", text, re.M)
            broker = f"mqtts://localhost:{self.world.tls_port}" if uses_tls else f"mqtt://127.0.0.1:{self.world.port}"
            broker = "mqtt.broker=" + broker
            named = [] if re.search(r"^id *=", text, re.M) else ["--set", "vehicle.id=example"]
            command = ["odographd", "check", "--config", path, "--set", broker, *named]
            good = lambda status, output: status in (0, 2)  # noqa: E731
        ran = subprocess.run([self.programs / command[0], *command[1:]], cwd=room, env=self.world.environment(room),
                             capture_output=True, text=True, timeout=300)
        output = ran.stdout + ran.stderr
        return None if good(ran.returncode, output) else f"{place}: status {ran.returncode}\n{output}"

    def json(self, block, room):
        self.count("messages")
        try:
            message = json.loads(block.text)
        except ValueError as error:
            return f"{block.place}: {error}"
        # Programs of the page read the message from a file with its name.
        (room / f"{block.detail}.json").write_text(block.text)
        problems = self.contract.problems(block.detail, message)
        return f"{block.place}: " + "; ".join(problems) if problems else None

    def program(self, block, room):
        """Runs a complete program of a page, and compares its output with the page's block of csv."""
        self.count("programs in " + block.language)
        ran = subprocess.run(INTERPRETERS[block.language], input=self.world.here(block.text), cwd=room,
                             env=self.world.environment(room), capture_output=True, text=True, timeout=300)
        if ran.returncode or ran.stderr:
            return f"{block.place}: status {ran.returncode}\n{ran.stderr}"
        printed = room / ".to-print"
        if printed.exists() and ran.stdout.strip() != printed.read_text().strip():
            return f"{block.place}: prints\n{ran.stdout}instead of\n{printed.read_text()}"
        return None

    def csv(self, block, room):
        """Stores the expected output of the following programs of a page."""
        (room / ".to-print").write_text(block.text)

    def swift(self, block, room):
        self.count("programs")
        return self.compiler.fault(block, self.world.here(block.text), room, self.world.environment(room))

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def session(self, found):
        """Runs the blocks of a page in order, and returns their faults."""
        kinds = {"sh": self.shell, "text said": self.text, "toml": self.toml, "json": self.json, "swift": self.swift,
                 "csv": self.csv, **dict.fromkeys(INTERPRETERS, self.program)}
        room = self.together(found[0].place)
        faults = []
        for block in found:
            whole = f"{block.language} {block.detail}"
            # An exception for a language does not apply to its blocks with a comparison.
            if block.detail and whole not in kinds and self.exceptions.cover(whole):
                continue
            kind = kinds.get(whole) or kinds.get(block.language)
            if kind:
                faults.append(kind(block, room))
            elif not self.exceptions.cover(block.language):
                faults.append(f"{block.place}: no runner for {block.language!r}; add one to examples.py, or list it in not-run.txt with a reason")
        return list(filter(None, faults))

    def run(self, found):
        pages = {}
        for block in found:
            pages.setdefault(block.place.partition(":")[0], []).append(block)
        alone = [page for page in pages.values() if any(b.language == "sh" and ALONE.search(b.text) for b in page)]
        faults = []
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            results = [pool.submit(self.session, page) for page in pages.values() if page not in alone]
            # On an overloaded machine a vehicle may be late. A failed page is repeated once in another folder.
            for page in alone:
                if self.session(page):
                    faults += self.session(page)
            for result in results:
                faults += result.result()
        for path in sorted((blocks.REPOSITORY / "Config").rglob("*.toml")):
            self.count("configurations")
            place = str(path.relative_to(blocks.REPOSITORY))
            faults += filter(None, [self.configuration(path, place, path.name == "profile.toml", self.room())])
        faults += [f"not-run.txt: unused entry {entry!r}" for entry in set(self.exceptions.entries) - self.exceptions.used]
        return faults


def main(programs, postgres):
    found, faults = [], []
    for path in blocks.pages():
        more, wrong = blocks.of_page(path)
        found += more
        faults += wrong
    for program in ("odograph", "odographd"):
        more, wrong = blocks.of_help(os.path.join(programs, program))
        found += more
        faults += wrong
    with tempfile.TemporaryDirectory(prefix="odograph-examples-") as folder:
        here = world.World(folder, programs, postgres)
        try:
            examples = Examples(here, pathlib.Path(programs))
            faults += examples.run(found)
        finally:
            here.close()
    for fault in faults:
        print(fault, file=sys.stderr)
    for name, number in examples.counts.items():
        print(f"{name},{number}")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: examples.py PROGRAMS-DIR POSTGRES-URL")
    sys.exit(main(*sys.argv[1:]))
