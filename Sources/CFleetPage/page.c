#include "CFleetPage.h"

// The files are part of the program, so that one file is all that is installed: no folder to find, none to forget.
static const unsigned char index_html[] = {
#embed "page/index.html"
};

static const unsigned char openapi_json[] = {
#embed "page/openapi.json"
};

const fleet_page_file fleet_page_files[] = {
  {"index.html", index_html, sizeof index_html},
  {"openapi.json", openapi_json, sizeof openapi_json},
};

const size_t fleet_page_file_count = sizeof fleet_page_files / sizeof fleet_page_files[0];
