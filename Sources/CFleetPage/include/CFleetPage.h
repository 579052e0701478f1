#pragma once
#include <stddef.h>

/// A file of the page, as it stands in `page`.
typedef struct {
  /// Its path below the server's root, as in "app.js".
  const char *path;
  const unsigned char *bytes;
  size_t length;
} fleet_page_file;

extern const fleet_page_file fleet_page_files[];
extern const size_t fleet_page_file_count;

/// The table's start: Swift sees a C array without a length as one element.
static inline const fleet_page_file *fleet_page_table(void) { return fleet_page_files; }
