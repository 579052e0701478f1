/**
 * Creates elements without markup: text is always a text node, so that no name can contain HTML.
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Options} [options] `class`, `text`, `on` (listeners), `data` (data-*); everything else is an
 *   attribute. Attributes with the value false, null or undefined are omitted; true sets an empty attribute.
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") {
      const listeners = /** @type {Record<string, EventListener>} */ (value);
      for (const [event, run] of Object.entries(listeners)) element.addEventListener(event, run);
    }
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * Replaces the children of an element.
 * @template {Element} Kind
 * @param {Kind} element
 * @param {Child[]} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/**
 * Shows one child per item, in order. An item with an unchanged key keeps its element, and thereby the focus and a pressed
 * button.
 * @template Item
 * @param {HTMLElement} element its children are HTML elements made by `make`
 * @param {Item[]} items
 * @param {(item: Item) => string} key
 * @param {(item: Item) => HTMLElement} make
 */
export function keep(element, items, key, make) {
  const present = /** @type {HTMLElement[]} */ ([...element.children]);
  const before = new Map(present.map((child) => [child.dataset.key, child]));
  const children = items.map((item) => {
    const name = key(item), child = before.get(name) ?? make(item);
    before.delete(name);
    child.dataset.key = name;
    return child;
  });
  for (const child of before.values()) child.remove();
  children.forEach((child, index) => {
    if (element.children[index] !== child) element.insertBefore(child, element.children[index] ?? null);
  });
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== false && child !== null && child !== undefined) element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * The drawing context of a canvas.
 * @param {HTMLCanvasElement} canvas
 */
export function contextOf(canvas) {
  const context = canvas.getContext("2d");
  // Browsers without memory for another canvas return null.
  if (!context) throw new Error("no canvas context available");
  return context;
}

const svgNamespace = "http://www.w3.org/2000/svg";

/**
 * A drawing of paths on a grid of 16 by 16, hidden from screen readers.
 * @param {({d: string} & Record<string, string|undefined>)[]} paths
 */
export function drawing(paths, className = "glyph") {
  const svg = document.createElementNS(svgNamespace, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", className);
  for (const { d, ...attributes } of paths) {
    const path = document.createElementNS(svgNamespace, "path");
    path.setAttribute("d", d);
    for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value ?? "");
    svg.append(path);
  }
  return svg;
}

/**
 * Sets the text if it differs, to avoid layout work and repeated announcements.
 * @param {Node} element @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A labelled button.
 * @param {string} text @param {(event: MouseEvent) => void} run @param {Options} [options]
 */
export function button(text, run, options = {}) {
  return h("button", { type: "button", ...options, on: { click: run } }, text);
}

/**
 * A definition list. Rows without a value are listed by name in the last row ("Unknown").
 * @param {(Row|null|undefined|false|"")[]} rows name, value, and a note; null and false omit a row
 * @typedef {[name: string, value?: Child, ...notes: Child[]]} Row
 */
export function facts(rows) {
  const given = /** @type {Row[]} */ (rows.filter(Boolean));
  const told = given.filter(([, value]) => value !== undefined), unknown = given.filter(([, value]) => value === undefined);
  return h(
    "dl", { class: "facts" },
    told.map(([name, value, note]) => [h("dt", {}, name), h("dd", {}, value, note ? h("span", { class: "note" }, note) : null)]),
    unknown.length ? [h("dt", {}, "Unknown"), h("dd", { class: "unknown" },
      unknown.map(([name]) => name.charAt(0).toLowerCase() + name.slice(1)).join(", "))] : null);
}
