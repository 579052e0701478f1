"""Documents of the repository for comparisons with the package."""

import json
import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "Sources" / "Python"
EXAMPLES = PACKAGE / "examples"

SCHEMAS = {path.stem: json.loads(path.read_text()) for path in sorted((REPOSITORY / "Config/schemas").glob("*.json"))}


def blocks(page, language):
    """Returns the blocks of a page in one language."""
    text = (REPOSITORY / page).read_text()
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", text, re.M | re.S)
