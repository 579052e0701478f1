"""Accessibility rules, applied by axe-core over the debugger, so that the page's content security policy stays in force."""
import os

import axe_core_python

with open(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js"), encoding="utf-8") as file:
    script = file.read()


def findings(tab):
    """Returns the violations of WCAG 2.2 A and AA and of best practices, one per line; expected are none."""
    if not tab.run("typeof axe !== 'undefined'"):
        tab.run(script + "; 0")
    told = tab.run(
        "axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        ".then((r) => r.violations.map((v) => v.id + ': ' + v.help + ' – ' + v.nodes.slice(0, 3)"
        ".map((n) => n.target.join(' ') + ' (' + (n.any[0] || n.all[0] || n.none[0] || {}).message + ')').join(' | ')))")
    return told
