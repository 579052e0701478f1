/** The base map's tiles, of the server's own file or of an address that the operator has configured. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";

/**
 * Providers demand to know who asks: tiles are asked for with this server's origin as the referrer, and with nothing of what is looked
 * at, although its pages send no referrer otherwise. Leaflet has an option for it from 1.9 on only.
 */
const Tiles = L.TileLayer.extend({
  createTile(place, done) {
    const tile = document.createElement("img");
    tile.referrerPolicy = "origin";
    tile.alt = "";
    tile.setAttribute("role", "presentation");
    tile.addEventListener("load", () => this._tileOnLoad(done, tile));
    tile.addEventListener("error", (event) => this._tileOnError(done, tile, event));
    tile.src = this.getTileUrl(place);
    return tile;
  },
});

/** @param {{url: string, minimumZoom?: number, maximumZoom?: number, bounds?: [number, number, number, number]}} tiles bounds: west, south, east, north */
export function baseTiles(tiles) {
  const [west, south, east, north] = tiles.bounds ?? [];
  // Below the least zoom there is nothing: Leaflet would put it together of thousands of tiles for each.
  return new Tiles(tiles.url, {
    minZoom: tiles.minimumZoom ?? 0, maxNativeZoom: tiles.maximumZoom, maxZoom: 20, className: "base-tiles",
    bounds: tiles.bounds ? [[south, west], [north, east]] : undefined,
  });
}
