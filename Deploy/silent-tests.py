#!/usr/bin/env python3
"""Lists tests that can pass without their assertions.

usage: Deploy/silent-tests.py FILE...
A test must not return early without an issue, as in `guard let value else { return }`: use #require, or a trait that reports
the skip.
Exit status 1 if something was found."""

import re
import sys

# Text, comments and regular expressions of Swift that may contain braces.
QUIET = re.compile(
    r'//[^\n]*|/\*.*?\*/|#"""(?:.*?)"""#|"""(?:\\.|.)*?"""|#"(?:.*?)"#|"(?:\\\((?:[^()"]|"[^"]*"|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\\n])*"'
    r"|(?<=[(,= ])/(?![ /*])(?:\\.|[^/\\\n])+/",
    re.DOTALL,
)
ASSERTION = re.compile(r"#expect|#require|\bIssue\.record|\bconfirm\w*\(")


def blanked(text):
    """Blanks the contents of literals and comments; positions are unchanged."""
    return QUIET.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def end_of_block(code, start):
    """Returns the position after the brace that closes the one at `start`."""
    depth = 0
    for index in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index + 1
    return len(code)


def head(code, brace, start):
    """Returns the statement of a brace, from the start of its line or the end of the previous block."""
    depth, index = 0, brace - 1
    while index > start:
        character = code[index]
        if character in ")]":
            depth += 1
        elif character in "([":
            if depth == 0:
                break
            depth -= 1
        elif character in "{};" and depth == 0:
            break
        elif character == "}":
            depth += 0
        index -= 1
    return code[index + 1 : brace]


KEYWORD = re.compile(r"^\s*(?:\w+:\s*)?(guard|if|else|for|while|repeat|do|catch|switch|defer|func|init|struct|enum|class|actor|case|default)\b")


def statement(code, brace, start):
    """Returns the keyword of the statement whose block opens at `brace`, and its text; (None, ...) for a closure."""
    text = head(code, brace, start)
    # A brace inside parentheses is an argument.
    lines = text.split("\n")
    for count in range(len(lines)):
        candidate = "\n".join(lines[len(lines) - 1 - count :])
        match = KEYWORD.match(candidate)
        if match:
            return match.group(1), candidate
    if re.search(r"\belse\s*$", text):
        return "else", text
    return None, text


def blocks(code, start, end):
    """Yields (keyword, text, opening, end) for blocks of a function, without closures and nested functions."""
    index = start
    while index < end:
        if code[index] == "{":
            keyword, text = statement(code, index, start)
            close = end_of_block(code, index)
            inside_call = text.count("(") > text.count(")")
            if keyword in (None, "func", "init", "struct", "enum", "class", "actor") or inside_call:
                index = close
                continue
            yield keyword, text, index, close
            yield from blocks(code, index + 1, close - 1)
            index = close
        else:
            index += 1


def own(code, start, end):
    """Returns the text of a block without nested closures and functions."""
    result, index = [], start
    while index < end:
        if code[index] == "{":
            keyword, text = statement(code, index, start)
            close = end_of_block(code, index)
            if keyword in (None, "func", "init") or text.count("(") > text.count(")"):
                result.append(re.sub(r"[^\n]", " ", code[index:close]))
                index = close
                continue
        result.append(code[index])
        index += 1
    return "".join(result)


def tests(code):
    """Yields (opening, end) for the bodies of test functions."""
    for match in re.finditer(r"@Test\b", code):
        function = re.compile(r"\bfunc\s+\w+").search(code, match.end())
        if not function:
            continue
        depth, index = 0, function.end()
        while index < len(code) and (code[index] != "{" or depth):
            depth += {"(": 1, ")": -1}.get(code[index], 0)
            index += 1
        yield index, end_of_block(code, index)


def findings(text):
    code = blanked(text)
    for start, end in tests(code):
        for keyword, statement_text, opening, close in blocks(code, start + 1, end - 1):
            body = own(code, opening + 1, close - 1)
            # Only blocks that end with a return.
            leaves = re.search(r"(?:^|[;\n{])\s*return\s*$", body)
            if leaves and keyword in ("else", "guard", "if", "catch") and not ASSERTION.search(body):
                yield opening, "returns without an issue"


def main():
    count = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for position, what in findings(text):
            line = text.count("\n", 0, position) + 1
            print(f"{path}:{line}: {what}: {text.splitlines()[line - 1].strip()[:100]}")
            count += 1
    sys.exit(1 if count else 0)


main()
