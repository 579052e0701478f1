/** The dialog with the keyboard shortcuts, and the menu. */
import { button, h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { preference, setPreference } from "./preferences.js";
import { chooseTheme, chosenTheme } from "./theme.js";
import { isUTC, setUTC } from "./times.js";

export const shortcuts = [
  ["/", "Search"], ["m", "Map"], ["v", "Vehicles as a table"], ["r", "Regions"], ["a", "Alerts"], ["s", "Fleet in figures"],
  ["n", "Next vehicle of the list"], ["p", "Previous vehicle of the list"], ["c", "Centre the selected vehicle"], ["f", "Follow it"],
  ["h", "Its history"], ["0", "Show the whole fleet"], ["d", "Light or dark"], ["u", "Local time or UTC"], ["?", "These keys"], ["Escape", "Close what is open"],
];

export const shortcutsHold = () => preference("shortcuts", true);

/** @param {string[]} [without] keys that this server does not support */
export function openHelp(without = []) {
  const box = h("input", { type: "checkbox", checked: shortcutsHold(), on: { change: () => setPreference("shortcuts", box.checked) } });
  openDialog("Keys",
    h("p", {}, "On the map, arrows move and + and − zoom. In a list, arrows, Page Up, Page Down, Home and End move, Enter opens."),
    h("table", { class: "keys" }, h("caption", { class: "visually-hidden" }, "Keys"),
      h("tbody", {}, shortcuts.filter(([key]) => !without.includes(key)).map(([key, meaning]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, meaning))))),
    h("label", { class: "check" }, box, " Single keys hold"));
}

const themes = { system: "As the system", light: "Light", dark: "Dark" };

/** @param {{logOut: () => void, help: () => void, links: () => void, session: () => any}} on */
export function openMenu(on) {
  const session = on.session();
  const choice = (title, values, chosen, choose) => h("fieldset", {}, h("legend", {}, title), Object.entries(values).map(([value, text]) => {
    const input = h("input", { type: "radio", name: title, value, checked: value === chosen, on: { change: () => choose(value) } });
    return h("label", { class: "check" }, input, ` ${text}`);
  }));
  const dialog = openDialog("Settings of this page",
    session ? h("p", {}, session.link ? "A link shows you one vehicle as it is now." : session.login === false ? "Nobody has to log in here: only this machine reaches the server."
      : [h("b", {}, session.name), session.role === "operate" ? " sees and changes vehicles." : " sees vehicles, and changes nothing."]) : null,
    choice("Colours", themes, chosenTheme(), chooseTheme),
    choice("Times", { local: "In the zone of this machine", utc: "In UTC" }, isUTC() ? "utc" : "local", (value) => setUTC(value === "utc")),
    h("div", { class: "actions" }, button("Keys", () => { dialog.close(); on.help(); }),
      session && !session.link ? button("Links…", () => { dialog.close(); on.links(); }) : null,
      session?.login || session?.link ? button(session.link ? "Leave the link" : "Log out", () => { dialog.close(); on.logOut(); }) : null));
}
