/**
 * Creates elements without markup: text is always a text node, so that no name can contain HTML.
 */

/**
 * @param {string} tag
 * @param {Record<string, any>} [options] `class`, `text`, `on` (listeners), `data` (data-*); everything else is an
 *   attribute. Attributes with the value false, null or undefined are omitted; true sets an empty attribute.
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/**
 * Shows one child per item, in order. An item with an unchanged key keeps its element, and thereby the focus and a pressed
 * button.
 */
export function keep(element, items, key, make) {
  const before = new Map([...element.children].map((child) => [child.dataset.key, child]));
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

function append(element, children) {
  for (const child of children.flat(2)) {
    if (child === false || child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

const svgNamespace = "http://www.w3.org/2000/svg";

/** A drawing of paths on a grid of 16 by 16, hidden from screen readers. */
export function drawing(paths, className = "glyph") {
  const svg = document.createElementNS(svgNamespace, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", className);
  for (const { d, ...attributes } of paths) {
    const path = document.createElementNS(svgNamespace, "path");
    path.setAttribute("d", d);
    for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value);
    svg.append(path);
  }
  return svg;
}

/** Sets the text if it differs, to avoid layout work and repeated announcements. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A labelled button. */
export function button(text, run, options = {}) {
  return h("button", { type: "button", ...options, on: { click: run } }, text);
}

/** The rows of a definition list. Rows without a value are listed by name in the last row ("Unknown"). */
export function facts(rows) {
  const told = rows.filter((row) => row && row[1] !== undefined), unknown = rows.filter((row) => row && row[1] === undefined);
  return h(
    "dl", { class: "facts" },
    told.map(([name, value, note]) => [h("dt", {}, name), h("dd", {}, value, note ? h("span", { class: "note" }, note) : null)]),
    unknown.length ? [h("dt", {}, "Unknown"), h("dd", { class: "unknown" },
      unknown.map(([name]) => name.charAt(0).toLowerCase() + name.slice(1)).join(", "))] : null);
}

/** Limits calls to one per `milliseconds`. The last call is always executed. */
export function limited(milliseconds, run) {
  let timer = null, last = -Infinity;
  return (...values) => {
    clearTimeout(timer);
    const wait = Math.max(0, last + milliseconds - performance.now());
    timer = setTimeout(() => { last = performance.now(); run(...values); }, wait);
  };
}

/** Delays a call until there has been no other call for `milliseconds`. */
export function settled(milliseconds, run) {
  let timer = null;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds, ...values);
  };
}
