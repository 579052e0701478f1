/** Single-key shortcuts, inactive while a field has the focus. */
import { shortcutsHold } from "./help.js";

/**
 * True for a field that accepts text.
 * @param {EventTarget|null} element
 */
const writes = (element) => element instanceof Element
  && element.matches("input:not([type=checkbox], [type=radio], [type=range]), select, textarea, [contenteditable]");

/** @param {Record<string, () => void>} actions by key */
export function listenForKeys(actions) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    // An open dialog handles its own keys.
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (writes(event.target) && /** @type {HTMLInputElement} */ (event.target).value) return;
      actions.Escape?.();
      return;
    }
    if (!shortcutsHold() || writes(event.target)) return;
    const run = actions[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  });
}
