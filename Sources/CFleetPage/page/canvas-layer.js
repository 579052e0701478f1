/** A canvas over the map that is redrawn after each move. All layers of the map use it. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";
import { worldSize } from "./mercator.js";

/**
 * The part of the world that a canvas shows, in CSS pixels.
 * @typedef {Object} View
 * @property {number} zoom
 * @property {number} size width of the world
 * @property {number} left left edge of the canvas, in pixels of the world
 * @property {number} top
 * @property {number} width
 * @property {number} height
 */

export const CanvasLayer = L.Layer.extend({
  options: {
    pane: "overlayPane",
    /** Margin on each side as a fraction of the map's size. With a margin the layer is redrawn only after a move has ended. */
    padding: 0,
  },

  initialize(draw, options) {
    L.setOptions(this, options);
    this._draw = draw;
    this._frame = null;
  },

  onAdd(map) {
    this._canvas = L.DomUtil.create("canvas", "leaflet-zoom-animated");
    // Hidden from screen readers: lists contain the same data as text.
    this._canvas.setAttribute("aria-hidden", "true");
    this._context = this._canvas.getContext("2d");
    this.getPane().appendChild(this._canvas);
    map.on(this._events(), this);
    this._resize();
  },

  onRemove(map) {
    map.off(this._events(), this);
    cancelAnimationFrame(this._frame);
    this._frame = null;
    this._canvas.remove();
  },

  _events() {
    return {
      resize: this._resize,
      [this.options.padding ? "moveend" : "move"]: this._reset,
      viewreset: this._reset,
      zoomend: this._reset,
      zoomanim: this._animate,
    };
  },

  _resize() {
    const size = this._map.getSize();
    const scale = 1 + 2 * this.options.padding;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this._width = Math.round(size.x * scale);
    this._height = Math.round(size.y * scale);
    this._canvas.width = this._width * ratio;
    this._canvas.height = this._height * ratio;
    this._canvas.style.width = `${this._width}px`;
    this._canvas.style.height = `${this._height}px`;
    this._ratio = ratio;
    this._reset();
  },

  _reset() {
    if (this._zooming) {
      this._zooming = this._map._animatingZoom;
      if (this._zooming) return;
    }
    this.redraw();
  },

  /** Requests a redraw in the next frame. Several requests cause one redraw. */
  redraw() {
    if (!this._map || this._frame !== null) return this;
    this._frame = requestAnimationFrame((time) => {
      this._frame = null;
      if (this._map && !this._map._animatingZoom) this._paint(time);
    });
    return this;
  },

  _paint(time) {
    const map = this._map, padding = this.options.padding;
    const size = map.getSize();
    const corner = L.point(-size.x * padding, -size.y * padding).round();
    L.DomUtil.setPosition(this._canvas, map.containerPointToLayerPoint(corner));
    const origin = map.getPixelBounds().min.add(corner);
    this._corner = map.unproject(origin, map.getZoom());
    this._context.setTransform(this._ratio, 0, 0, this._ratio, 0, 0);
    this._context.clearRect(0, 0, this._width, this._height);
    this._draw(this._context, {
      zoom: map.getZoom(), size: worldSize(map.getZoom()), left: origin.x, top: origin.y, width: this._width, height: this._height,
    }, time);
  },

  _animate(event) {
    if (!this._corner) return;
    const scale = this._map.getZoomScale(event.zoom, this._map.getZoom());
    L.DomUtil.setTransform(
      this._canvas, this._map._latLngToNewLayerPoint(this._corner, event.zoom, event.center), scale);
    this._zooming = true;
  },
});
