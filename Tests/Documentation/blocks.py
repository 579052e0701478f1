"""Finds the examples of the documentation: fenced blocks of Markdown, and the examples in each command's --help."""

import dataclasses
import json
import pathlib
import re
import subprocess
import textwrap

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Block:
    place: str  # file:line, or the command of a help text
    language: str
    detail: str  # the rest of the fence's line
    text: str


def pages():
    """Yields the pages of the documentation, without results and the change log."""
    for pattern in ("README.md", "CONTRIBUTING.md", "Config/**/*.md", "Deploy/**/*.md", "Sources/**/*.md"):
        yield from sorted(REPOSITORY.glob(pattern))


def of_page(path):
    """Returns the code blocks of a page and its faults. A fence without a language is a fault. Indented blocks are
    configurations if they start with a table, and otherwise commands."""
    lines = path.read_text().split("\n") + [""]
    name = path.relative_to(REPOSITORY)
    fence, start, faults, blocks = None, 0, [], []
    indented = 0
    for number, line in enumerate(lines, 1):
        if indented and line.strip() and not line.startswith("    "):
            text = textwrap.dedent("\n".join(lines[indented - 1 : number - 1])).strip("\n")
            blocks.append(Block(f"{name}:{indented}", "toml" if text.startswith("[") else "sh", "", text))
            indented = 0
        mark = re.match(r"^ *```(.*)$", line)
        if fence is None and mark:
            fence, start = mark.group(1).strip(), number
            if not fence:
                faults.append(f"{name}:{number}: a fence without a language")
        elif fence is not None and mark:
            language, _, detail = fence.partition(" ")
            text = textwrap.dedent("\n".join(lines[start : number - 1]))
            blocks.append(Block(f"{name}:{start}", language, detail, text))
            fence = None
        elif fence is None and not indented and line.startswith("    ") and not lines[number - 2].strip():
            indented = number
    return blocks, faults


def of_help(program):
    """Returns the examples of a program's commands and its faults: commands without abstract, example or exit codes."""
    dump = subprocess.run([program, "--experimental-dump-help"], capture_output=True, check=True, text=True)
    blocks, faults, seen = [], [], set()

    def visit(command, name):
        discussion = command.get("discussion", "")
        examples = re.search(r"^Examples:\n((?:  .*\n?)+)", discussion, re.M)
        for part, there in (
            ("abstract", command.get("abstract")),
            ("example", examples),
            ("list of exit codes", "Exit codes:" in discussion),
        ):
            if not there:
                faults.append(f"{name} --help: no {part}")
        # A command with continuation lines is one example.
        text = re.sub(r" *\\\n *", " ", textwrap.dedent(examples.group(1))) if examples else ""
        lines = text.strip().split("\n") if text else []
        fresh = [line for line in lines if line not in seen]
        seen.update(fresh)
        if fresh:
            blocks.append(Block(f"{name} --help", "sh", "", "\n".join(fresh)))
        for sub in command.get("subcommands", []):
            if sub["commandName"] != "help":
                visit(sub, f"{name} {sub['commandName']}")

    top = json.loads(dump.stdout)["command"]
    visit(top, top["commandName"])
    return blocks, faults
