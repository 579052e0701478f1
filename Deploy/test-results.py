#!/usr/bin/env python3
"""Evaluates the event streams of test runs for Deploy/test.sh.

usage: test-results.py again EVENTS        prints a filter for the failed tests of a run; status 1 if the process crashed, so
                                           that all tests must be repeated
       test-results.py summary FOLDER      prints skipped tests with their reasons, tests that failed or passed only at the second
                                           try with their issues, and finally "N passed, N failed, N skipped"; status 1 if a test
                                           failed, if more than one passed only at the second try, or if one was skipped
                                           although Deploy/test.sh installs its packages

FOLDER contains RUN.1, the events of a run, RUN.2, those of its second try, and "checks": lines "passed|failed|skipped|said
NAME: TEXT" of checks other than Swift tests.
"""

import json
import pathlib
import re
import sys

# As printed by Tests/TestSupport/Need.swift.
INSTALLED_HERE = "needs the Debian packages"
# Largest number of tests that may pass only at the second try.
FLAKY_LIMIT = 1
# Limits for the issues of a failed test: enough to find the cause at the end of a log.
ISSUES_SHOWN = 6
ISSUE_LENGTH = 800


class Run:
    """The tests of one run, by name: "Module.Suite/function()"."""

    def __init__(self, path):
        self.results = {}  # passed, failed or skipped
        self.reasons = {}
        self.has_ended = False
        self.issues = {}  # issues by test, in order
        self.not_started = set()  # failed because the process ended earlier
        functions, suites, started = [], {}, set()
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the last line of a process that crashed
            payload = record["payload"]
            if record["kind"] == "test":
                if payload["kind"] == "function":
                    functions.append(self.name(payload["id"]))
                continue
            self.has_ended |= payload["kind"] == "runEnded"
            name = self.name(payload.get("testID", ""))
            if payload["kind"] == "testStarted":
                started.add(name)
            if payload["kind"] == "issueRecorded":
                said = [message["text"] for message in payload["messages"] if message.get("text")]
                self.issues.setdefault(name, []).append(" ".join(" ".join(said).split()))
            if payload["kind"] == "testSkipped":
                suites[name] = self.reasons[name] = " ".join(payload.get("_comments") or ["no reason given"])
                self.results[name] = "skipped"
            elif payload["kind"] == "testEnded":
                has_failed = any(message["symbol"] == "fail" for message in payload["messages"])
                self.results[name] = "failed" if has_failed else "passed"
        for name in functions:
            if name in self.results:
                continue
            above = [reason for suite, reason in suites.items() if name.startswith(suite + "/")]
            # Tests that have not ended were interrupted by a crash, or were never started.
            self.results[name] = "skipped" if above else "failed"
            if not above and name not in started:
                self.not_started.add(name)
            if above:
                self.reasons[name] = above[0]
        self.results = {name: self.results[name] for name in functions}

    @staticmethod
    def name(identity):
        return re.sub(r"/[^/]*\.swift:\d+:\d+$", "", identity)


def again(path):
    run = Run(path)
    failed = sorted({name.rpartition("/")[2].partition("(")[0] for name, result in run.results.items() if result == "failed"})
    if failed:
        print(f"/({'|'.join(failed)})\\(")
    return 0 if run.has_ended else 1


def summary(folder):
    results, reasons, issues, second, waiting = {}, {}, {}, [], set()
    for path in sorted(folder.glob("*.[12]")):
        run = Run(path)
        if not run.has_ended:
            print(f"the process of the {path.stem} tests crashed{' again' * (path.suffix == '.2')}")
        for name, result in run.results.items():
            # A test may be skipped in one build and run in another.
            if result == "skipped" and name in results:
                continue
            if results.get(name) == "failed" and result == "passed" and name not in waiting:
                second.append(name)
            results[name] = result
            reasons[name] = run.reasons.get(name, "")
            issues.setdefault(name, []).extend(run.issues.get(name, []))
        waiting |= run.not_started
    for line in (folder / "checks").read_text().splitlines() if (folder / "checks").exists() else []:
        result, _, rest = line.partition(" ")
        name, _, said = rest.partition(": ")
        if result == "said":
            issues.setdefault(name, []).append(said)
        else:
            results[name], reasons[name] = result, said

    def chosen(result):
        return sorted(name for name in results if results[name] == result)

    by_reason = {}
    for name in chosen("skipped"):
        by_reason.setdefault(reasons[name], []).append(name)
    missing = [reason for reason in by_reason if reason.startswith(INSTALLED_HERE)]
    for reason, names in sorted(by_reason.items()):
        print(f"skipped, as it {reason}:" if reason.startswith("needs ") else f"skipped: {reason}:")
        print("".join(f"  {name}\n" for name in names), end="")
    for title, names in (("passed at the second try", second), ("failed", chosen("failed"))):
        if names:
            print(f"{title}:")
        for name in names:
            print(f"  {name}")
            for issue in issues.get(name, [])[:ISSUES_SHOWN]:
                print(f"    {issue[:ISSUE_LENGTH]}")
    for reason in missing:
        print(f"fails, as this script installs the missing packages: {reason}")
    if len(second) > FLAKY_LIMIT:
        print(f"fails, as {len(second)} tests passed at the second try only; at most {FLAKY_LIMIT} may")
    print(", ".join(f"{len(chosen(result))} {result}" for result in ("passed", "failed", "skipped")))
    return 1 if missing or chosen("failed") or len(second) > FLAKY_LIMIT else 0


def main(arguments):
    match arguments:
        case ["again", path]:
            return again(pathlib.Path(path))
        case ["summary", folder]:
            return summary(pathlib.Path(folder))
        case _:
            print(__doc__.split("\n\n")[1], file=sys.stderr)
            return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
