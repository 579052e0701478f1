#!/usr/bin/env python3
"""Checks that comments, help, messages, the web page and the documentation are in plain English.

usage: Deploy/check-prose.py [--list] [PATH...]
  --list   print every finding, also within the budget
  PATH     files and folders; without it the product (Sources, Config, README.md, CHANGELOG.md, CONTRIBUTING.md, Package.swift),
           Tests, and Deploy with .ci/run, each with its own budgets

Checked are the forms of the first sentence of documentation comments, and words in all sentences: comments and strings of
Swift and of the page (JavaScript, HTML, CSS), comments of C, comments, docstrings and texts of Python and shell scripts,
Markdown, comments of TOML, unit and udev files, and descriptions of JSON Schemas, OpenAPI and AsyncAPI. A finding is not always
a fault, so each kind has a small budget in per cent. Above it, the findings are printed with file, line and sentence, and the
exit status is 1. CONTRIBUTING.md contains the rules.
"""
import ast
import bisect
import io
import os
import re
import sys
import tokenize

# Openings of a documentation comment. It should start with a noun phrase or a verb ("Returns", "True if").
FORMS = {
    "starts with a relative clause": r"(What|Whoever|Who|Whatever|Whether|Which|Where|When|How|Why|Since when|Until when|(In|Of|Along|From|At|By|To|With) which)\b(?!.*\?)",
    "starts with a preposition": r"(As|Of|In|By|For|From|Behind|Beside|Beyond|Between|After|Before|With|Without|Until|Since|At|On|To|Into|Out of|Among)\b[^,]{0,60}\.?$",
    "starts with a pronoun": r"(It|They|That|Those|This|One|Some|All|None|Nobody|Somebody|Nothing|Something)\b",
}
# Everyday words, and what to write instead.
WORDS = {
    "tell, told: publish, report, send": r"tells?|told|telling",
    "say, said: state, report, print": r"says?|said",
    "nobody, somebody: name the component or person": r"nobody|somebody|whoever",
    "kept: stored, retained, cached": r"kept",
    "go on: continue, resume": r"(?:goes?|went|going) on",
    "stand: is, is stored, is at rest": r"stands?",
    "take: accept, process, require, last": r"(?:takes?|took)(?! (?:effect|precedence|ownership))",
    "know: has, is available": r"knows?|knew",
    "want: request, require": r"wants?",
    "by itself, at once: automatically, immediately": r"by itself|at once",
    "all that, what is: name it": r"all that|that which|what is",
}
# Largest share of findings in per cent.
BUDGETS = {
    "documentation comments": 2.0, "comments": 1.5, "strings": 5.5, "page comments": 1.0, "page texts": 0.5,
    "documentation": 1.0, "configuration comments": 1.0, "schemas": 1.0, "C comments": 1.5, "script comments": 1.5,
    "script texts": 3.0,
}
# Paths that are checked together without arguments.
GROUPS = [["Sources", "Config", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Package.swift"], ["Tests"], ["Deploy", ".ci/run"]]
# This file contains the words itself. Changelogs of packages and licences have a given form.
EXCLUDED = re.compile(r"Deploy/(check-prose\.py|debian/(changelog|copyright))$")

STRING = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)
PAGE_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([^<>{}]+)<', re.S)
PAGE_COMMENT = re.compile(r"/\*\*?(.*?)\*/|^\s*// (.*?)$", re.S | re.M)
DESCRIPTION = re.compile(r'"(?:description|summary|title|\$comment)"\s*:\s*"((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(r"#+((?: .*)?(?:\n#+ .*)*)")
C_COMMENT = re.compile(r"/\*(.*?)\*/|^[ \t]*//+ ?((?:[^\n]*)(?:\n[ \t]*//+[^\n]*)*)", re.S | re.M)
SHELL_COMMENT = re.compile(r"^[ \t]*#(?!!) *((?:(?!shellcheck )[^\n]*)(?:\n[ \t]*#(?! shellcheck )[^\n]*)*)", re.M)
SHELL_TEXT = re.compile(r'\b(?:echo|fail|step|passed|done_with|printf) "((?:[^"\\$]|\\.|\$\w+|\$\{[^{}]*\})*)"')
DIRECTIVE = re.compile(r"#+ *(noqa|shellcheck|type:|pylint)\b.*")
YAML_DESCRIPTION = re.compile(r"^( *)(?:- )?(?:description|summary|title): *(?:[>|]-?)?(.*(?:\n\1 +.*)*)", re.M)


def sentences(text):
    """Splits running text. Code in backquotes and names of parameters are not checked."""
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"- (Parameters?:?( \w+:)?|Returns:|Throws:|\w+:)", "", text)
    return [part for part in re.split(r"(?<=[.;:!?])\s+", text) if part.strip()]


def blocks(lines):
    """Yields (line number, marker, text) for each comment."""
    index = 0
    while index < len(lines):
        match = re.match(r"\s*(///?)(?!/)\s?(.*)", lines[index])
        if not match:
            index += 1
            continue
        marker, start, text = match[1], index, []
        while index < len(lines) and (match := re.match(r"\s*(///?)(?!/)\s?(.*)", lines[index])) and match[1] == marker:
            text.append(match[2].strip())
            index += 1
        yield start + 1, marker, " ".join(text)


def word_faults(sentence):
    return [name for name, words in WORDS.items() if re.search(rf"\b(?:{words})\b", sentence, re.I)]


def swift(source):
    """Yields (kind, line, sentence, faults) for each checked sentence of a Swift file; faults is empty for a good one."""
    lines = source.split("\n")
    for line, marker, text in blocks(lines):
        for index, sentence in enumerate(sentences(text)):
            faults = word_faults(sentence)
            if marker == "///" and index == 0:
                faults += [name for name, form in FORMS.items() if re.match(form, sentence)]
                yield "documentation comments", line, sentence, faults
            else:
                yield "comments", line, sentence, faults
    code = "\n".join("" if re.match(r"\s*//", line) else line for line in lines)
    for match in STRING.finditer(code):
        text = re.sub(r"\\\(.*?\)", "x", match[1] or match[2] or "")
        # Running text, not SQL, JSON or code.
        if len(re.findall(r"\b[a-z]{2,}\b", text)) < 4 or re.search(r"[{};=<>|$]|\b[A-Z]{4,}\b", text):
            continue
        line = code.count("\n", 0, match.start()) + 1
        for sentence in sentences(text):
            yield "strings", line, sentence, word_faults(sentence)


def texts(kind, pattern, source, forms=False):
    """Yields the sentences of all matches of a pattern, as `swift` does. `forms`: check the form of documentation comments, too."""
    ends = [match.end() for match in re.finditer("\n", source)]
    for match in pattern.finditer(source):
        text = re.sub(r"\$\{[^{}]*\}", "x", next((group for group in reversed(match.groups()) if group), ""))
        # Tags of JSDoc and their types, borders of comments, and names in code font.
        text = re.sub(r"^#+|@\w+ *(\{[^\n]*?\}(?= |$))? *[\w.\[\]]*|^\s*\*|<[^<>]*>", " ", text, flags=re.M)
        line = bisect.bisect(ends, match.start()) + 1
        for index, sentence in enumerate(sentences(" ".join(text.split()))):
            faults = word_faults(sentence)
            if forms and index == 0 and match[0].startswith("/**"):
                faults += [name for name, form in FORMS.items() if re.match(form, sentence)]
            yield kind, line, sentence, faults


def page(source):
    yield from texts("page comments", PAGE_COMMENT, source, forms=True)
    code = PAGE_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)
    for kind, line, sentence, faults in texts("page texts", PAGE_STRING, code):
        if len(re.findall(r"\b[a-z]{2,}\b", sentence)) >= 2 and not re.search(r"[{};=<>|]", sentence):
            yield kind, line, sentence, faults


def markdown(source):
    """Paragraphs, headings and table cells, without code."""
    text = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), source, flags=re.S | re.M)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    yield from texts("documentation", re.compile(r"([^|\n]+(?:\n(?![\n|#*-])[^|\n]+)*)"), text)


def toml(source):
    yield from texts("configuration comments", COMMENT, re.sub(r"\n# (?=[\w.]+ = |\[)", "\n\n# ", source))


def c(source):
    """Comments of C, without the marks of their lines."""
    for kind, line, sentence, faults in texts("C comments", C_COMMENT, source):
        yield kind, line, sentence.replace("//", "").strip("/ "), faults


def shell(source):
    """Comments of shell scripts, units and rules, and texts that scripts print."""
    for kind, line, sentence, faults in texts("script comments", SHELL_COMMENT, source):
        yield kind, line, sentence.replace(" # ", " "), faults
    for kind, line, sentence, faults in texts("script texts", SHELL_TEXT, source):
        if len(re.findall(r"\b[a-z]{2,}\b", sentence)) >= 3:
            yield kind, line, sentence, faults


def python(source):
    """Docstrings, comments and texts of a Python script."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [node.body[0].value for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)]
    for node in docstrings:
        for index, sentence in enumerate(sentences(" ".join(node.value.split()))):
            faults = word_faults(sentence)
            if index == 0:
                faults += [name for name, form in FORMS.items() if re.match(form, sentence)]
            yield "script comments", node.lineno, sentence, faults
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = DIRECTIVE.sub("", token.string).lstrip("#! ") if token.type == tokenize.COMMENT else ""
        if not text or token.start == (1, 0):
            continue
        alone = not token.line[: token.start[1]].strip()
        if comments and alone and comments[-1][1] == token.start[0] - 1:
            comments[-1] = (comments[-1][0], token.start[0], f"{comments[-1][2]} {text}")
        else:
            comments.append((token.start[0], token.start[0] if alone else 0, text))
    for line, _, text in comments:
        for sentence in sentences(text):
            yield "script comments", line, sentence, word_faults(sentence)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in docstrings:
            continue
        text = node.value
        # Running text, not SQL, JSON or code.
        if len(re.findall(r"\b[a-z]{2,}\b", text)) < 4 or re.search(r"[{};=<>|$\n]|\b[A-Z]{4,}\b", text):
            continue
        for sentence in sentences(text):
            yield "script texts", node.lineno, sentence, word_faults(sentence)


# What is checked in which files.
READERS = {
    ".swift": swift, ".js": page, ".html": page, ".css": page, ".md": markdown, ".toml": toml,
    ".json": lambda source: texts("schemas", DESCRIPTION, source), ".yaml": lambda source: texts("schemas", YAML_DESCRIPTION, source),
    ".c": c, ".h": c, ".cpp": c, ".py": python, ".sh": shell, ".service": shell, ".conf": shell, ".rules": shell,
}


def reader(path, source):
    """The function that checks a file; scripts without a file name extension are recognized by their first line."""
    name = os.path.basename(path)
    if EXCLUDED.search(path):
        return None
    if name.startswith("Containerfile") or source.startswith(("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash")):
        return shell
    return READERS.get(os.path.splitext(name)[1])


def files(path):
    if os.path.isfile(path):
        yield path
    for place, folders, names in os.walk(path):
        # Builds and caches.
        folders[:] = sorted(folder for folder in folders if not folder.startswith((".", "__")))
        yield from (os.path.join(place, name) for name in sorted(names))


def check(paths, lists):
    """Prints the figures of some paths, and the findings if there are too many. Returns True if there are."""
    totals = {kind: 0 for kind in BUDGETS}
    faulty = {kind: [] for kind in BUDGETS}
    for path in (file for each in paths for file in files(each)):
        try:
            with open(path, encoding="utf-8") as file:
                source = file.read()
        except UnicodeDecodeError:
            continue
        read = reader(path, source)
        for kind, line, sentence, faults in read(source) if read else ():
            totals[kind] += 1
            if faults:
                faulty[kind].append(f"{path}:{line}: {' '.join(sentence.split())}\n    {'; '.join(faults)}")
    failed = False
    for kind, budget in BUDGETS.items():
        if not totals[kind]:
            continue
        share = 100 * len(faulty[kind]) / max(1, totals[kind])
        over = share > budget
        failed = failed or over
        if over or lists:
            print("".join(f"{finding}\n" for finding in faulty[kind]), end="")
        print(f"{kind}: {len(faulty[kind])} of {totals[kind]} flagged ({share:.1f} %, budget {budget} %)")
    return failed


def main():
    arguments = sys.argv[1:]
    lists = "--list" in arguments
    paths = [argument for argument in arguments if argument != "--list"]
    failed = False
    for group in [paths] if paths else GROUPS:
        if not paths:
            print(f"== {', '.join(group)}")
        failed |= check(group, lists)
    if failed:
        print("too many sentences are not in plain English; see CONTRIBUTING.md")
    sys.exit(1 if failed else 0)


main()
