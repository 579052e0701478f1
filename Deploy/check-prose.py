#!/usr/bin/env python3
"""Checks that comments, help, messages, the web page and the documentation are in plain English.

usage: Deploy/check-prose.py [--list] [PATH...]    (default: Sources, Config, README.md)
  --list   print every finding, also within the budget

Checked are the forms of the first sentence of documentation comments, and words in all sentences: comments and strings of
Swift and of the page (JavaScript, HTML, CSS), Markdown, comments of TOML files, and descriptions of JSON Schemas, OpenAPI
and AsyncAPI. A finding is not always a fault, so each kind has a small budget in per cent. Above it, the findings are
printed with file, line and sentence, and the exit status is 1. CONTRIBUTING.md contains the rules.
"""
import bisect
import os
import re
import sys

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
    "documentation": 1.0, "configuration comments": 1.0, "schemas": 1.0,
}

STRING = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)
PAGE_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([^<>{}]+)<', re.S)
PAGE_COMMENT = re.compile(r"/\*\*?(.*?)\*/|^\s*// (.*?)$", re.S | re.M)
DESCRIPTION = re.compile(r'"(?:description|summary|title|\$comment)"\s*:\s*"((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(r"#+((?: .*)?(?:\n#+ .*)*)")
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


# What is checked in which files.
READERS = {
    ".swift": swift, ".js": page, ".html": page, ".css": page, ".md": markdown, ".toml": toml,
    ".json": lambda source: texts("schemas", DESCRIPTION, source), ".yaml": lambda source: texts("schemas", YAML_DESCRIPTION, source),
}


def files(path):
    if os.path.isfile(path):
        yield path
    for place, _, names in sorted(os.walk(path)):
        yield from (os.path.join(place, name) for name in sorted(names))


def main():
    arguments = sys.argv[1:]
    lists = "--list" in arguments
    paths = [argument for argument in arguments if argument != "--list"] or ["Sources", "Config", "README.md"]
    totals = {kind: 0 for kind in BUDGETS}
    faulty = {kind: [] for kind in BUDGETS}
    for path in (file for each in paths for file in files(each)):
        reader = READERS.get(os.path.splitext(path)[1])
        if not reader:
            continue
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for kind, line, sentence, faults in reader(source):
            totals[kind] += 1
            if faults:
                faulty[kind].append(f"{path}:{line}: {' '.join(sentence.split())}\n    {'; '.join(faults)}")
    failed = False
    for kind, budget in BUDGETS.items():
        share = 100 * len(faulty[kind]) / max(1, totals[kind])
        over = share > budget
        failed = failed or over
        if over or lists:
            print("\n".join(faulty[kind]))
        print(f"{kind}: {len(faulty[kind])} of {totals[kind]} flagged ({share:.1f} %, budget {budget} %)")
    if failed:
        print("too many sentences are not in plain English; see CONTRIBUTING.md")
    sys.exit(1 if failed else 0)


main()
