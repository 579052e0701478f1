/** The dialog with the keyboard shortcuts, and the menu. */
import { button, h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { preference, setPreference } from "./preferences.js";
import { chooseTheme, chosenTheme } from "./theme.js";
import { isUTC, setUTC } from "./times.js";

export const shortcuts = [
  ["/", "Search"], ["m", "Map"], ["v", "Vehicle table"], ["r", "Regions"], ["a", "Alerts"], ["s", "Fleet statistics"],
  ["n", "Next vehicle in the list"], ["p", "Previous vehicle in the list"], ["c", "Centre the selected vehicle"], ["f", "Follow the selected vehicle"],
  ["h", "History of the selected vehicle"], ["0", "Show the whole fleet"], ["d", "Switch light and dark colours"],
  ["u", "Switch local time and UTC"], ["?", "Keyboard shortcuts"], ["Escape", "Close the open panel"],
];

export const shortcutsHold = () => preference("shortcuts", true);

/** @param {string[]} [without] keys that this server does not support */
export function openHelp(without = []) {
  /** @type {HTMLInputElement} */
  const box = h("input", { type: "checkbox", checked: shortcutsHold(), on: { change: () => setPreference("shortcuts", box.checked) } });
  openDialog("Keyboard shortcuts",
    h("p", {}, "Map: arrow keys move, + and − zoom. Lists: arrow keys, Page Up, Page Down, Home and End move; Enter opens."),
    h("table", { class: "keys" }, h("caption", { class: "visually-hidden" }, "Keyboard shortcuts"),
      h("tbody", {}, shortcuts.filter(([key]) => !without.includes(key))
        .map(([key, meaning]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, meaning))))),
    h("label", { class: "check" }, box, " Enable single-key shortcuts"));
}

const themes = { system: "System setting", light: "Light", dark: "Dark" };

/** @param {{logOut: () => void, help: () => void, links: () => void, session: () => (SessionState|undefined)}} on */
export function openMenu(on) {
  const session = on.session();
  /** @param {string} title @param {Record<string, string>} values @param {string} chosen @param {(value: string) => void} choose */
  const choice = (title, values, chosen, choose) => h("fieldset", {}, h("legend", {}, title), Object.entries(values).map(([value, text]) => {
    const input = h("input", { type: "radio", name: title, value, checked: value === chosen, on: { change: () => choose(value) } });
    return h("label", { class: "check" }, input, ` ${text}`);
  }));
  const dialog = openDialog("Page settings",
    session ? h("p", {}, session.link ? "Shared link: shows the present state of one vehicle."
      : session.login === false ? "No login required: the server accepts connections from this machine only."
      : [h("b", {}, session.name), session.role === "operate" ? " can view and control vehicles." : " can view vehicles."]) : null,
    choice("Colours", themes, chosenTheme(), chooseTheme),
    choice("Times", { local: "Local time zone", utc: "UTC" }, isUTC() ? "utc" : "local", (value) => setUTC(value === "utc")),
    h("div", { class: "actions" }, button("Keyboard shortcuts", () => { dialog.close(); on.help(); }),
      session && !session.link ? button("Shared links…", () => { dialog.close(); on.links(); }) : null,
      session?.login || session?.link ? button(session.link ? "Close the link" : "Log out", () => { dialog.close(); on.logOut(); }) : null));
}
