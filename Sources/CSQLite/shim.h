#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import: these have SQLite copy
// what is bound.
static inline int odograph_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  // A null pointer would bind NULL in place of an empty value.
  return count > 0 ? sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT)
                   : sqlite3_bind_zeroblob(statement, index, 0);
}

static inline int odograph_bind_text(sqlite3_stmt *statement, int index, const char *text) {
  return sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

// These have SQLite read what is bound where it is, which the caller keeps there until it binds something else.
static inline int odograph_bind_text_in_place(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_text(statement, index, count > 0 ? (const char *)bytes : "", count, SQLITE_STATIC);
}

static inline int odograph_bind_blob_in_place(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return count > 0 ? sqlite3_bind_blob(statement, index, bytes, count, SQLITE_STATIC)
                   : sqlite3_bind_zeroblob(statement, index, 0);
}

// Swift does not import functions with variable arguments. Before SQLite's first use; later it changes nothing.
static inline void odograph_sqlite_without_memory_statistics(void) {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
