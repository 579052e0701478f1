#!/usr/bin/env python3
"""Runs a command, and terminates it with all its descendants when a signal arrives.

usage: Deploy/supervised.py COMMAND [ARGUMENT]...
On SIGTERM, SIGINT or SIGHUP all descendants receive SIGTERM each second, and SIGKILL after three seconds. Descendants in other process
groups and sessions are included: this process adopts those whose parent exits. Exit status: the command's, 128 and the signal's
number if a signal ended it."""

import ctypes
import os
import pathlib
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
# Seconds between SIGTERM and SIGKILL, and until the supervisor gives up.
PATIENCE, LIMIT = 3.0, 4.5


def descendants():
    """Returns all descendants of this process."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name in parentheses may contain blanks and parentheses.
            parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found, open_ones = [], [os.getpid()]
    while open_ones:
        below = children.get(open_ones.pop(), [])
        found += below
        open_ones += below
    return found


def send(number, processes):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def reap():
    """Collects children that have exited. Returns their statuses by process."""
    ended = {}
    try:
        while (entry := os.waitpid(-1, os.WNOHANG))[0]:
            ended[entry[0]] = entry[1]
    except ChildProcessError:
        pass
    return ended


def stop():
    start = next_signal = time.monotonic()
    while left := descendants():
        now = time.monotonic()
        if now > start + LIMIT:
            return
        if now > start + PATIENCE:
            send(signal.SIGKILL, left)
        elif now >= next_signal:
            # Repeated only after a second: a shell whose child has exited runs further commands to clean up.
            send(signal.SIGTERM, left)
            next_signal = now + 1
        time.sleep(0.05)
        reap()


def main():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("cannot adopt processes:", os.strerror(ctypes.get_errno()), file=sys.stderr)
        return 71
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals | {signal.SIGCHLD})
    command = os.fork()
    if command == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals | {signal.SIGCHLD})
        try:
            os.execvp(sys.argv[1], sys.argv[1:])
        except OSError as error:
            print(f"{sys.argv[1]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    while True:
        received = signal.sigwait(signals | {signal.SIGCHLD})
        if received != signal.SIGCHLD:
            stop()
            return 128 + received
        if (status := reap().get(command)) is not None:
            stop()
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__.split("\n\n")[1].splitlines()[0], file=sys.stderr)
        sys.exit(64)
    sys.exit(main())
