/** The legend of the map. */
import { drawing, h } from "./dom.js";
import { sign } from "./markers.js";
import { activities, activityMeanings, activityWords, positionKinds } from "./vehicle.js";

const circle = "M8 2.4a5.6 5.6 0 1 1 0 11.2a5.6 5.6 0 1 1 0-11.2Z";

/** @type {Record<string, ({d: string} & Record<string, string>)[]>} */
const positionSigns = {
  reckoned: [{ d: "M8 15V9", class: "dashed" }, { d: "M8 .8 11.6 10 8 8 4.4 10Z", class: "hollow" }],
  inertial: [{ d: circle, class: "dashed" }, { d: "M8 5a3 3 0 1 1 0 6a3 3 0 1 1 0-6Z" }],
  coarse: [{ d: circle, class: "dotted" }, { d: "M8 5a3 3 0 1 1 0 6a3 3 0 1 1 0-6Z" }],
  suspect: [{ d: "M2 2 5 5M11 11 14 14M14 2 11 5M5 11 2 14", class: "trail" }, { d: "M8 5a3 3 0 1 1 0 6a3 3 0 1 1 0-6Z" }],
  stale: [{ d: "M8 1 11.4 10 8 8 4.6 10Z" }, { d: "M2 13H14V14.8H2Z" }],
};

export function legend() {
  /** @param {Child} picture @param {string} name @param {string} meaning */
  const row = (picture, name, meaning) => h("li", {}, picture, h("span", {}, h("b", {}, name), ` ${meaning}`));
  return h("details", { class: "legend" },
    h("summary", {}, "Legend"),
    h("ul", {},
      activities.map((name) => row(sign(name), activityWords[name], activityMeanings[name]))),
    h("ul", {},
      row(drawing(positionSigns.reckoned, "glyph outline"), "Predicted",
        "hollow, with a dotted line from the last report: predicted from speed and course, not measured"),
      row(drawing(positionSigns.inertial, "glyph outline"), "Dead reckoning", positionKinds.inertial.toLowerCase()),
      row(drawing(positionSigns.coarse, "glyph outline"), "Coarse", "from access points or cells, often hundreds of metres off"),
      row(drawing(positionSigns.suspect, "glyph outline"), "Crossed", "suspect: another measurement contradicts the position"),
      row(drawing(positionSigns.stale, "glyph outline"), "Underlined", "old: the vehicle may have moved since"),
      row(drawing([{ d: circle, class: "hollow" }], "glyph outline"), "Circle",
        "contains the vehicle with a probability of at least 68 %; grows while the position is predicted"),
      row(drawing([{ d: "M1 14C5 14 5 4 15 3", class: "trail" }], "glyph outline"), "Line", "recent track of the selected vehicle")));
}
