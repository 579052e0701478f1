#!/usr/bin/env python3
"""Checks that comments, help and messages of the Swift sources are in plain English.

usage: Deploy/check-prose.py [--list] [FOLDER...]    (default: Sources)
  --list   print every finding, also within the budget

Checked are the forms of the first sentence of documentation comments, and words in all sentences of comments and of
strings with at least four words. A finding is not always a fault, so each kind has a small budget in per cent. Above it,
the findings are printed with file, line and sentence, and the exit status is 1. CONTRIBUTING.md contains the rules.
"""
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
BUDGETS = {"documentation comments": 2.0, "comments": 1.5, "strings": 5.5}

STRING = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)


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


def findings(path):
    """Yields (kind, line, sentence, faults) for each checked sentence of a file; faults is empty for a good one."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
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


def main():
    arguments = sys.argv[1:]
    lists = "--list" in arguments
    folders = [argument for argument in arguments if argument != "--list"] or ["Sources"]
    totals = {kind: 0 for kind in BUDGETS}
    faulty = {kind: [] for kind in BUDGETS}
    for folder in folders:
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if not name.endswith(".swift"):
                    continue
                path = os.path.join(place, name)
                for kind, line, sentence, faults in findings(path):
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
