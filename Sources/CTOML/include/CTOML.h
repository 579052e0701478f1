#pragma once

#include <stddef.h>
#include <stdint.h>

// Debian's toml++ behind a C interface: a text in, a flat list of nodes with their positions out. No exception leaves it.

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

// Lines and columns are counted from 1, columns in code points.
typedef struct {
  ctoml_kind kind;
  // 0 for members of the document; members and elements follow their table or array, one deeper.
  uint32_t depth;
  // NULL for elements of an array.
  const char *key;
  size_t key_length;
  uint32_t key_line, key_column;
  // Of the value; of a table, its header.
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
  // In the order of the text.
  const ctoml_node *nodes;
  size_t count;
  // NULL when the text is TOML; otherwise why not, and where.
  const char *problem;
  uint32_t line, column;
} ctoml_document;

// Values may be nested, and a key may have parts, to this depth.
enum { CTOML_DEPTH_LIMIT = 16 };

// Returns NULL when there is no memory. The text need not outlive the call.
ctoml_document *ctoml_parse(const char *text, size_t length);

void ctoml_free(ctoml_document *document);

#ifdef __cplusplus
}
#endif
