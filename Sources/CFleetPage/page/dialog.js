/** Dialogs, based on the browser's `dialog` element. */
import { button, fill, h } from "./dom.js";

let identifiers = 0;

/**
 * @param {string} title
 * @param {...any} children
 * @returns {HTMLDialogElement & {close(): void}} the open dialog; it is removed from the page when it closes
 */
export function openDialog(title, ...children) {
  const before = document.activeElement;
  const id = `dialog${(identifiers += 1)}`;
  const dialog = h("dialog", { "aria-labelledby": id },
    h("div", { class: "head" }, h("h2", { id }, title), button("×", () => dialog.close(), { class: "close", "aria-label": "Close" })),
    h("div", { class: "body" }, children));
  dialog.addEventListener("close", () => {
    dialog.remove();
    before?.focus?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("[autofocus], .body input:not([type=hidden]), .body select, .body button")?.focus();
  return dialog;
}

/** Closes all dialogs, the newest first. Confirmations count as cancelled. */
export function closeDialogs() {
  for (const dialog of [...document.querySelectorAll("dialog[open]")].reverse()) dialog.close();
}

/**
 * Asks for confirmation.
 * @param {...any} more elements that show the details of the change
 * @returns {Promise<boolean>} true if confirmed
 */
export function confirmed(title, sentence, word, ...more) {
  return new Promise((resolve) => {
    let answer = false;
    const dialog = openDialog(title, h("p", {}, sentence), more, h("div", { class: "actions end" },
      button("Cancel", () => dialog.close()),
      button(word, () => { answer = true; dialog.close(); }, { class: "strong" })));
    dialog.addEventListener("close", () => resolve(answer));
  });
}

/** An element for the result of a request, announced by screen readers. */
export function outcome() {
  const element = h("div", { class: "outcome", role: "status" });
  return {
    element,
    wait: (text) => { element.className = "outcome"; fill(element, text); },
    good: (...children) => { element.className = "outcome good"; fill(element, children); },
    bad: (error) => { element.className = "outcome bad"; fill(element, h("b", {}, "Error: "), error.explanation ?? String(error.message ?? error)); },
  };
}

/** A labelled form field. */
export function field(label, control, note) {
  const id = control.id || `field${(identifiers += 1)}`;
  control.id = id;
  if (note) control.setAttribute("aria-describedby", `${id}-note`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, note ? h("span", { class: "note", id: `${id}-note` }, note) : null);
}
