"""Asks a server all that its OpenAPI document allows: run.py CONFIGURATION ADDRESS EXAMPLES PHASES TOKEN.

Each request has the token, but those that look whether it is asked for.
"""

import os
import sys
import tempfile

configuration, address, examples, phases, token = sys.argv[1:]
# What it keeps between runs is of no use here.
os.chdir(tempfile.mkdtemp())
os.execv(
    sys.executable,
    [
        # By its module, as the program beside the interpreter names the folder that it was installed into.
        sys.executable, "-m", "schemathesis.cli", "--config-file", configuration, "run", address + "/openapi.json",
        "--url", address, "--max-examples", examples, "--no-color", "--phases", phases,
        # hypothesis fails by itself now and then (SystemError) with more than one.
        "--workers", "1",
        # A failure is found again by its seed, which stands in the output.
        "--generation-database", ":memory:",
        # Streams stay open, and have tests of their own.
        "--exclude-operation-id", "stream",
        "--request-timeout", "40",
        "--header", f"Authorization: Bearer {token}",
    ],
)
