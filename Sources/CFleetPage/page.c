#include "CFleetPage.h"

// The files are part of the program, so that one file is all that is installed: no folder to find, none to forget.
static const unsigned char index_html[] = {
#embed "page/index.html"
};

const fleet_page_file fleet_page_files[] = {
  {"index.html", index_html, sizeof index_html},
};

const size_t fleet_page_file_count = sizeof fleet_page_files / sizeof fleet_page_files[0];
