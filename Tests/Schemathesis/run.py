"""Asks a server all that its OpenAPI document allows: run.py CONFIGURATION ADDRESS EXAMPLES [PHASES]."""

import os
import sys
import tempfile

configuration, address, examples, phases = [*sys.argv[1:], "examples,coverage,fuzzing,stateful"][:4]
program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
# What it keeps between runs is of no use here.
os.chdir(tempfile.mkdtemp())
os.execv(
    program,
    [
        program, "--config-file", configuration, "run", address + "/openapi.json",
        "--url", address, "--max-examples", examples, "--workers", "2", "--no-color", "--phases", phases,
        # A failure is found again by its seed, which stands in the output.
        "--generation-database", ":memory:",
        # Streams stay open, and have tests of their own.
        "--exclude-operation-id", "stream",
        "--request-timeout", "40",
    ],
)
