#pragma once

#include <stddef.h>
#include <stdint.h>

// Debian's toml++ behind a C interface: converts a text to a flat list of nodes with their positions. Throws no
// exceptions.

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CTOML_TABLE,
  CTOML_ARRAY,
  CTOML_STRING,
  CTOML_INTEGER,
  CTOML_NUMBER,
  CTOML_FLAG,
  CTOML_TIME
} ctoml_kind;

// Lines and columns start at 1; columns are counted in code points.
typedef struct {
  ctoml_kind kind;
  // 0 for members of the document; members and elements follow their table or array, with the next depth.
  uint32_t depth;
  // NULL for elements of an array.
  const char *key;
  size_t key_length;
  uint32_t key_line, key_column;
  // Position of the value, or of the header of a table.
  uint32_t line, column;
  // CTOML_STRING
  const char *text;
  size_t text_length;
  // CTOML_INTEGER, CTOML_FLAG
  int64_t integer;
  // CTOML_NUMBER
  double number;
} ctoml_node;

typedef struct {
  // Nodes in the order of the text.
  const ctoml_node *nodes;
  size_t count;
  // NULL for valid TOML; otherwise the error and its position.
  const char *problem;
  uint32_t line, column;
} ctoml_document;

// Maximum depth of nested values, and maximum number of parts of a key.
enum { CTOML_DEPTH_LIMIT = 16 };

// Returns NULL if memory is insufficient. The text may be freed after the call.
ctoml_document *ctoml_parse(const char *text, size_t length);

void ctoml_free(ctoml_document *document);

#ifdef __cplusplus
}
#endif
