/** Dialogs, based on the browser's `dialog` element. */
import { explained } from "./api.js";
import { button, fill, h } from "./dom.js";

let identifiers = 0;

/**
 * @param {string} title
 * @param {Child[]} children
 * @returns {HTMLDialogElement} the open dialog; it is removed from the page when it closes
 */
export function openDialog(title, ...children) {
  const before = document.activeElement;
  const id = `dialog${(identifiers += 1)}`;
  /** @type {HTMLDialogElement} */ const dialog = h("dialog", { "aria-labelledby": id },
    h("div", { class: "head" }, h("h2", { id }, title), button("×", () => dialog.close(), { class: "close", "aria-label": "Close" })),
    h("div", { class: "body" }, children));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  /** @type {HTMLElement|null} */ (dialog.querySelector("[autofocus], .body input:not([type=hidden]), .body select, .body button"))?.focus();
  return dialog;
}

/** Closes all dialogs, the newest first. Confirmations count as cancelled. */
export function closeDialogs() {
  for (const dialog of [...document.querySelectorAll("dialog")].reverse()) if (dialog.open) dialog.close();
}

/**
 * Asks for confirmation.
 * @param {string} title
 * @param {string} sentence
 * @param {string} word of the button that confirms
 * @param {Child[]} more elements that show the details of the change
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
    /** @param {string} text */
    wait: (text) => { element.className = "outcome"; fill(element, text); },
    /** @param {Child[]} children */
    good: (...children) => { element.className = "outcome good"; fill(element, children); },
    /** @param {unknown} error */
    bad: (error) => { element.className = "outcome bad"; fill(element, h("b", {}, "Error: "), explained(error)); },
  };
}

/**
 * A labelled form field.
 * @param {string} label @param {HTMLElement} control @param {string|null} [note]
 */
export function field(label, control, note) {
  const id = control.id || `field${(identifiers += 1)}`;
  control.id = id;
  if (note) control.setAttribute("aria-describedby", `${id}-note`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, note ? h("span", { class: "note", id: `${id}-note` }, note) : null);
}
