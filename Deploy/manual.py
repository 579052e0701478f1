"""Converts the argument parser's manual pages to the usual form of manual pages.

usage: manual.py FROM-DIR TO-DIR

The generator prints a command's discussion as one text. Here its "Examples:" and "Exit codes:" become sections of
their own, indented lines are unchanged, options follow the description, and the pages are called
odograph-config-set rather than odograph.config.set, so that `man odograph config set` finds them.
"""

import pathlib
import re
import sys

EXAMPLES, CODES = "Examples:", "Exit codes:"


def literal(lines):
    """Yields unchanged lines that can be copied. Unescaped ' and - would become typographic characters."""
    escapes = {"'": r"\(aq", "`": r"\(ga", "-": r"\-", "~": r"\(ti", "^": r"\(ha"}
    yield ".Bd -literal -offset indent"
    for line in lines:
        line = "".join(escapes.get(character, character) for character in line.removeprefix("  "))
        yield r"\&" + line if line[:1] in (".", " ") else line
    yield ".Ed"


def sentences(text):
    """Yields running text with each sentence on its own line, as mdoc(7) requires."""
    for sentence in re.split(r"(?:(?<=[a-z0-9)\]][.?!])|(?<=[A-Z]{2}[.?!])) (?=[A-Z/])", text):
        for line in re.findall(r"\S.{0,76}\S(?= |$)|\S+", sentence):
            yield r"\&" + line if line[0] in ".'" else line


def paragraphs(text):
    """Yields a description: running text, and blocks of indented lines."""
    first = True
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        for indented, lines in runs(block.split("\n")):
            if not first and not indented:
                yield ".Pp"
            first = False
            yield from literal(lines) if indented else sentences(" ".join(lines))


def runs(lines):
    """Yields runs of indented or unindented lines."""
    run = []
    for line in lines:
        line = line.removeprefix(r"\&") if line.startswith(r"\& ") else line
        if run and run[-1].startswith(" ") != line.startswith(" "):
            yield run[0].startswith(" "), run
            run = []
        run.append(line)
    if run:
        yield run[0].startswith(" "), run


def exit_codes(text):
    """Yields a text such as "0 done; 64 usage" as a list."""
    yield ".Bl -tag -width 4n"
    for code in re.split(r"[;\n]\s*(?=\d)", " ".join(text.split()).rstrip(".")):
        number, meaning = code.strip().split(" ", 1)
        yield f".It {number}"
        yield from sentences(meaning.strip())
    yield ".El"


def page(source, name, section, commands, parent):
    """Yields a page: description, commands, options, exit codes, examples, references."""
    head, _, body = source.partition(".Sh DESCRIPTION\n")
    body, _, _ = body.partition('.Sh "EXIT STATUS"')
    split = re.search(r"^\.Bl", body, re.M)
    text, options = (body[: split.start()], body[split.start() :]) if split else (body, "")
    text, _, codes = text.partition(CODES)
    codes, _, rest = codes.partition("\n\n")
    text, _, examples = text.partition(EXAMPLES + "\n")
    examples, _, more = examples.partition("\n\n")
    title = name.replace(" ", "-")
    head = re.sub(r"^\.Dt .*$", f".Dt {title.upper()} {section}", head, flags=re.M)
    head = re.sub(r'^\.Nm .*\n\.Nd "?(.*?)\.?"?$', rf".Nm {title}\n.Nd \1", head, count=1, flags=re.M)
    head = re.sub(r"^\.Os$", ".Os Odograph", head, flags=re.M)
    head = re.sub(r"^\.Nm$", f'.Nm "{name}"', head, flags=re.M)
    abstract = re.search(r"^\.Nd (.*)$", head, re.M).group(1)
    yield head.rstrip("\n")
    yield ".Sh DESCRIPTION"
    yield from paragraphs("\n\n".join(part for part in (text, more, rest) if part.strip()) or abstract + ".")
    if commands:
        yield ".Sh COMMANDS"
        yield ".Bl -tag -width 6n"
        for command, abstract in commands:
            yield f".It Xr {command} {section}"
            yield from sentences(abstract + ".")
        yield ".El"
    if options:
        # The programs print two forms of help; see Sources/CommandHelp.
        options = options.replace("Show help information.", "Show all of this; -h shows one screen.")
        yield ".Sh OPTIONS"
        for line in options.replace(".Pp\n.It", ".It").strip("\n").split("\n"):
            yield from [line] if line.startswith(".") else sentences(line)
    if codes:
        yield ".Sh EXIT STATUS"
        yield from exit_codes(codes)
    if examples:
        yield ".Sh EXAMPLES"
        yield from literal(line.removeprefix(r"\&") for line in examples.rstrip("\n").split("\n"))
    if parent:
        yield ".Sh SEE ALSO"
        yield f".Xr {parent} {section}"


def main(origin, target):
    sources = {}
    for path in sorted(pathlib.Path(origin).iterdir()):
        name, _, section = path.name.rpartition(".")
        if not name.endswith(".help"):
            sources[name] = (path.read_text(), section)
    for name, (source, section) in sources.items():
        commands = []
        for other, (text, _) in sources.items():
            if other.rpartition(".")[0] == name:
                commands.append((other.replace(".", "-"), re.search(r'^\.Nd "?(.*?)\.?"?$', text, re.M).group(1)))
        parent = name.rpartition(".")[0].replace(".", "-")
        lines = page(source, name.replace(".", " "), section, commands, parent)
        pathlib.Path(target, f"{name.replace('.', '-')}.{section}").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: manual.py FROM-DIR TO-DIR")
    main(sys.argv[1], sys.argv[2])
