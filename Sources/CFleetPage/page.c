// Written by Deploy/page-files.sh.
#include "CFleetPage.h"

// The files are embedded, so that the program needs no data folder.
static const unsigned char alerts_js[] = {
#embed "page/alerts.js"
};
static const unsigned char announce_js[] = {
#embed "page/announce.js"
};
static const unsigned char api_js[] = {
#embed "page/api.js"
};
static const unsigned char app_js[] = {
#embed "page/app.js"
};
static const unsigned char base_tiles_js[] = {
#embed "page/base-tiles.js"
};
static const unsigned char base_css[] = {
#embed "page/base.css"
};
static const unsigned char canvas_layer_js[] = {
#embed "page/canvas-layer.js"
};
static const unsigned char clusters_js[] = {
#embed "page/clusters.js"
};
static const unsigned char commands_js[] = {
#embed "page/commands.js"
};
static const unsigned char detail_sections_js[] = {
#embed "page/detail-sections.js"
};
static const unsigned char details_js[] = {
#embed "page/details.js"
};
static const unsigned char dialog_js[] = {
#embed "page/dialog.js"
};
static const unsigned char dom_js[] = {
#embed "page/dom.js"
};
static const unsigned char downloads_js[] = {
#embed "page/downloads.js"
};
static const unsigned char filters_js[] = {
#embed "page/filters.js"
};
static const unsigned char fleet_layer_js[] = {
#embed "page/fleet-layer.js"
};
static const unsigned char fleet_view_js[] = {
#embed "page/fleet-view.js"
};
static const unsigned char format_js[] = {
#embed "page/format.js"
};
static const unsigned char graticule_js[] = {
#embed "page/graticule.js"
};
static const unsigned char header_js[] = {
#embed "page/header.js"
};
static const unsigned char help_js[] = {
#embed "page/help.js"
};
static const unsigned char history_js[] = {
#embed "page/history.js"
};
static const unsigned char horizon_js[] = {
#embed "page/horizon.js"
};
static const unsigned char icon_svg[] = {
#embed "page/icon.svg"
};
static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char journal_js[] = {
#embed "page/journal.js"
};
static const unsigned char keys_js[] = {
#embed "page/keys.js"
};
static const unsigned char labels_js[] = {
#embed "page/labels.js"
};
static const unsigned char layout_css[] = {
#embed "page/layout.css"
};
static const unsigned char legend_js[] = {
#embed "page/legend.js"
};
static const unsigned char list_js[] = {
#embed "page/list.js"
};
static const unsigned char map_view_js[] = {
#embed "page/map-view.js"
};
static const unsigned char map_css[] = {
#embed "page/map.css"
};
static const unsigned char map_js[] = {
#embed "page/map.js"
};
static const unsigned char markers_js[] = {
#embed "page/markers.js"
};
static const unsigned char mercator_js[] = {
#embed "page/mercator.js"
};
static const unsigned char notifications_js[] = {
#embed "page/notifications.js"
};
static const unsigned char openapi_json[] = {
#embed "page/openapi.json"
};
static const unsigned char parts_css[] = {
#embed "page/parts.css"
};
static const unsigned char plots_js[] = {
#embed "page/plots.js"
};
static const unsigned char preferences_js[] = {
#embed "page/preferences.js"
};
static const unsigned char reckoning_js[] = {
#embed "page/reckoning.js"
};
static const unsigned char region_draw_js[] = {
#embed "page/region-draw.js"
};
static const unsigned char region_geometry_js[] = {
#embed "page/region-geometry.js"
};
static const unsigned char region_push_js[] = {
#embed "page/region-push.js"
};
static const unsigned char regions_js[] = {
#embed "page/regions.js"
};
static const unsigned char router_js[] = {
#embed "page/router.js"
};
static const unsigned char selection_js[] = {
#embed "page/selection.js"
};
static const unsigned char session_js[] = {
#embed "page/session.js"
};
static const unsigned char settings_js[] = {
#embed "page/settings.js"
};
static const unsigned char shares_js[] = {
#embed "page/shares.js"
};
static const unsigned char store_js[] = {
#embed "page/store.js"
};
static const unsigned char stream_js[] = {
#embed "page/stream.js"
};
static const unsigned char table_js[] = {
#embed "page/table.js"
};
static const unsigned char theme_early_js[] = {
#embed "page/theme-early.js"
};
static const unsigned char theme_js[] = {
#embed "page/theme.js"
};
static const unsigned char timers_js[] = {
#embed "page/timers.js"
};
static const unsigned char times_js[] = {
#embed "page/times.js"
};
static const unsigned char track_layer_js[] = {
#embed "page/track-layer.js"
};
static const unsigned char track_js[] = {
#embed "page/track.js"
};
static const unsigned char vehicle_dialogs_js[] = {
#embed "page/vehicle-dialogs.js"
};
static const unsigned char vehicle_js[] = {
#embed "page/vehicle.js"
};
static const unsigned char view_js[] = {
#embed "page/view.js"
};
static const unsigned char virtual_rows_js[] = {
#embed "page/virtual-rows.js"
};
static const unsigned char ways_js[] = {
#embed "page/ways.js"
};

const fleet_page_file fleet_page_files[] = {
  {"alerts.js", alerts_js, sizeof alerts_js},
  {"announce.js", announce_js, sizeof announce_js},
  {"api.js", api_js, sizeof api_js},
  {"app.js", app_js, sizeof app_js},
  {"base-tiles.js", base_tiles_js, sizeof base_tiles_js},
  {"base.css", base_css, sizeof base_css},
  {"canvas-layer.js", canvas_layer_js, sizeof canvas_layer_js},
  {"clusters.js", clusters_js, sizeof clusters_js},
  {"commands.js", commands_js, sizeof commands_js},
  {"detail-sections.js", detail_sections_js, sizeof detail_sections_js},
  {"details.js", details_js, sizeof details_js},
  {"dialog.js", dialog_js, sizeof dialog_js},
  {"dom.js", dom_js, sizeof dom_js},
  {"downloads.js", downloads_js, sizeof downloads_js},
  {"filters.js", filters_js, sizeof filters_js},
  {"fleet-layer.js", fleet_layer_js, sizeof fleet_layer_js},
  {"fleet-view.js", fleet_view_js, sizeof fleet_view_js},
  {"format.js", format_js, sizeof format_js},
  {"graticule.js", graticule_js, sizeof graticule_js},
  {"header.js", header_js, sizeof header_js},
  {"help.js", help_js, sizeof help_js},
  {"history.js", history_js, sizeof history_js},
  {"horizon.js", horizon_js, sizeof horizon_js},
  {"icon.svg", icon_svg, sizeof icon_svg},
  {"index.html", index_html, sizeof index_html},
  {"journal.js", journal_js, sizeof journal_js},
  {"keys.js", keys_js, sizeof keys_js},
  {"labels.js", labels_js, sizeof labels_js},
  {"layout.css", layout_css, sizeof layout_css},
  {"legend.js", legend_js, sizeof legend_js},
  {"list.js", list_js, sizeof list_js},
  {"map-view.js", map_view_js, sizeof map_view_js},
  {"map.css", map_css, sizeof map_css},
  {"map.js", map_js, sizeof map_js},
  {"markers.js", markers_js, sizeof markers_js},
  {"mercator.js", mercator_js, sizeof mercator_js},
  {"notifications.js", notifications_js, sizeof notifications_js},
  {"openapi.json", openapi_json, sizeof openapi_json},
  {"parts.css", parts_css, sizeof parts_css},
  {"plots.js", plots_js, sizeof plots_js},
  {"preferences.js", preferences_js, sizeof preferences_js},
  {"reckoning.js", reckoning_js, sizeof reckoning_js},
  {"region-draw.js", region_draw_js, sizeof region_draw_js},
  {"region-geometry.js", region_geometry_js, sizeof region_geometry_js},
  {"region-push.js", region_push_js, sizeof region_push_js},
  {"regions.js", regions_js, sizeof regions_js},
  {"router.js", router_js, sizeof router_js},
  {"selection.js", selection_js, sizeof selection_js},
  {"session.js", session_js, sizeof session_js},
  {"settings.js", settings_js, sizeof settings_js},
  {"shares.js", shares_js, sizeof shares_js},
  {"store.js", store_js, sizeof store_js},
  {"stream.js", stream_js, sizeof stream_js},
  {"table.js", table_js, sizeof table_js},
  {"theme-early.js", theme_early_js, sizeof theme_early_js},
  {"theme.js", theme_js, sizeof theme_js},
  {"timers.js", timers_js, sizeof timers_js},
  {"times.js", times_js, sizeof times_js},
  {"track-layer.js", track_layer_js, sizeof track_layer_js},
  {"track.js", track_js, sizeof track_js},
  {"vehicle-dialogs.js", vehicle_dialogs_js, sizeof vehicle_dialogs_js},
  {"vehicle.js", vehicle_js, sizeof vehicle_js},
  {"view.js", view_js, sizeof view_js},
  {"virtual-rows.js", virtual_rows_js, sizeof virtual_rows_js},
  {"ways.js", ways_js, sizeof ways_js},
};

const size_t fleet_page_file_count = sizeof fleet_page_files / sizeof fleet_page_files[0];
