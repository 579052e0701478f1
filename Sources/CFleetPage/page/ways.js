/** The recorded tracks of the fleet as a background of the map. */
import { CanvasLayer } from "./canvas-layer.js";
import { isAborted, query } from "./api.js";
import { worldX, worldY } from "./mercator.js";
import { colours } from "./theme.js";
import { settled } from "./timers.js";

/** @param {import("./api.js").API} api */
export function recordedWays(api) {
  let colour = colours().way;
  /** @type {Float64Array[]} */ let ways = [];
  let asked = "";
  /** @type {AbortController|undefined} */ let controller;
  const layer = new CanvasLayer((/** @type {Context} */ context, { size, left, top }) => {
    context.beginPath();
    for (const way of ways) {
      for (let index = 0; index < way.length; index += 2) {
        const x = way[index] * size - left, y = way[index + 1] * size - top;
        if (index) context.lineTo(x, y);
        else context.moveTo(x, y);
      }
    }
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.lineJoin = "round";
    context.stroke();
  }, { pane: "ways", padding: 0.5 });

  const fetchWays = settled(300, async () => {
    const map = layer._map;
    if (!map) return;
    const around = map.getBounds().pad(0.5);
    const bounds = [
      Math.max(-180, around.getWest()), Math.max(-90, around.getSouth()), Math.min(180, around.getEast()), Math.min(90, around.getNorth()),
    ].map((value) => value.toFixed(4)).join(",");
    const address = `ways${query({ bounds, zoom: Math.round(map.getZoom()) })}`;
    if (address === asked) return;
    asked = address;
    controller?.abort();
    controller = new AbortController();
    try {
      const answer = await api.get(address, { signal: controller.signal });
      ways = (answer.ways ?? []).map((/** @type {number[]} */ way) => {
        const points = new Float64Array(way.length);
        for (let index = 0; index + 1 < way.length; index += 2) {
          points[index] = worldX(way[index + 1]);
          points[index + 1] = worldY(way[index]);
        }
        return points;
      });
      layer.redraw();
    } catch (error) {
      if (isAborted(error)) return;
      asked = "";
    }
  });
  layer.on("add", () => {
    layer._map?.on("moveend", fetchWays);
    fetchWays();
  });
  return { layer, restyle: () => { colour = colours().way; layer.redraw(); } };
}
