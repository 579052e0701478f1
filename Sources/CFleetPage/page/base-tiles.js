/** Tiles of the base map, from the server's file or from a configured address. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";

/**
 * Tile providers require a referrer. Tiles are requested with the origin only; all other requests of the page send no referrer.
 * Leaflet before 1.9 has no option for the referrer policy.
 */
class Tiles extends L.TileLayer {
  /** @override @param {object} place @param {(event: any) => void} done */
  createTile(place, done) {
    const tile = document.createElement("img");
    tile.referrerPolicy = "origin";
    tile.alt = "";
    tile.setAttribute("role", "presentation");
    tile.addEventListener("load", () => this._tileOnLoad(done, tile));
    tile.addEventListener("error", (event) => this._tileOnError(done, tile, event));
    tile.src = this.getTileUrl(place);
    return tile;
  }
}

/** @param {{url: string, minimumZoom?: number, maximumZoom?: number, bounds?: [number, number, number, number]}} tiles bounds: west, south, east, north */
export function baseTiles(tiles) {
  const [west, south, east, north] = tiles.bounds ?? [0, 0, 0, 0];
  // Without `minZoom`, Leaflet would assemble each tile of a lower level from thousands of tiles of the lowest available level.
  return new Tiles(tiles.url, {
    minZoom: tiles.minimumZoom ?? 0, maxNativeZoom: tiles.maximumZoom, maxZoom: 20, className: "base-tiles",
    bounds: tiles.bounds ? [[south, west], [north, east]] : undefined,
  });
}
