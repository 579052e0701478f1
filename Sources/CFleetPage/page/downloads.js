/** GPX and CSV files of a track. Pure except for `saveText`. */
import { h } from "./dom.js";
import { after } from "./timers.js";

/** @param {unknown} text */
const escaped = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  // XML 1.0 has no representation for these characters.
  .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

/** @param {unknown} value */
const isKnown = (value) => value !== null && value !== undefined;
/** @param {Track} track @param {number} index */
const timeAt = (track, index) => new Date(track.time[index]).toISOString();

/** @param {import("./track.js").Track} track @param {string} name */
export function toGPX(track, name) {
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>',
    '<gpx version="1.1" creator="Odograph" xmlns="http://www.topografix.com/GPX/1/1" xmlns:odograph="urn:odograph:export:1">',
    `<trk><name>${escaped(name)}</name><trkseg>`];
  for (let index = 0; index < track.length; index += 1) {
    // A new segment starts at a gap, at the 180th meridian, and before and after suspect and coarse positions, as in odograph export.
    if (index && (track.lineTo(index) !== "fix" || track.isCrossing(index))) lines.push("</trkseg><trkseg>");
    const altitude = isKnown(track.altitude[index]) ? `<ele>${track.altitude[index]}</ele>` : "";
    const accuracy = isKnown(track.accuracy[index]) ? `<odograph:accuracy>${track.accuracy[index]}</odograph:accuracy>` : "";
    const source = track.isOnPath(index) ? "" : `<odograph:source>${escaped(track.source[index])}</odograph:source>`;
    const extensions = accuracy || source ? `<extensions>${accuracy}${source}</extensions>` : "";
    lines.push(`<trkpt lat="${track.latitude[index]}" lon="${track.recordedLongitude[index]}">${altitude}`
      + `<time>${timeAt(track, index)}</time>${extensions}</trkpt>`);
  }
  return `${[...lines, "</trkseg></trk></gpx>"].join("\n")}\n`;
}

/** @type {("altitude"|"speed"|"course"|"accuracy"|"source")[]} */
const columns = ["altitude", "speed", "course", "accuracy", "source"];
const heads = ["time", "latitude", "longitude", "altitude_m", "speed_mps", "course_deg", "accuracy_m", "source"];

/**
 * Times in UTC, SI units; unknown values are empty.
 * @param {Track} track
 */
export function toCSV(track) {
  const lines = [heads.join(",")];
  for (let index = 0; index < track.length; index += 1) {
    const cells = columns.map((name) => isKnown(track[name][index]) ? String(track[name][index]) : "");
    lines.push([timeAt(track, index), track.latitude[index], track.recordedLongitude[index], ...cells].map(cell).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/**
 * Quotes a value if necessary. A leading apostrophe prevents spreadsheets from running it as a formula.
 * @param {unknown} value
 */
function cell(value) {
  const text = typeof value === "string" && /^[=+@'\t\r]|^-(?![\d.])/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Offers a text as a file to download.
 * @param {string} text @param {string} name @param {string} type
 */
export function saveText(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  after(10_000, () => URL.revokeObjectURL(address));
}
