"""Sends requests to a server according to its OpenAPI document: run.py CONFIGURATION ADDRESS EXAMPLES PHASES TOKEN.

Each request has the token, except those that check its requirement.
"""

import os
import sys
import tempfile

configuration, address, examples, phases, token = sys.argv[1:]
# Data of earlier runs are not used.
os.chdir(tempfile.mkdtemp())
os.execv(
    sys.executable,
    [
        # By its module, since the installed script contains the path of its folder.
        sys.executable, "-m", "schemathesis.cli", "--config-file", configuration, "run", address + "/openapi.json",
        "--url", address, "--max-examples", examples, "--no-color", "--phases", phases,
        # With several workers hypothesis sometimes fails (SystemError).
        "--workers", "1",
        # The output contains the seed, which reproduces a failure.
        "--generation-database", ":memory:",
        # Streams stay open, and have separate tests.
        "--exclude-operation-id", "stream",
        "--request-timeout", "40",
        "--header", f"Authorization: Bearer {token}",
    ],
)
