#pragma once
#include <stddef.h>

/// A file of the folder `page`.
typedef struct {
  /// Path below the server's root, such as "app.js".
  const char *path;
  const unsigned char *bytes;
  size_t length;
} fleet_page_file;

extern const fleet_page_file fleet_page_files[];
extern const size_t fleet_page_file_count;

/// Start of the table: Swift imports a C array without a length as one element.
static inline const fleet_page_file *fleet_page_table(void) { return fleet_page_files; }
