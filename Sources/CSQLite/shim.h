#pragma once
#include <sqlite3.h>

// SQLITE_STATIC is a cast to a function pointer, which Swift does not import. SQLite reads bound values in place: the
// caller must not free them before the statement is reset. A null pointer would bind NULL instead of an empty value.
static inline int odograph_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_text(statement, index, count > 0 ? (const char *)bytes : "", count, SQLITE_STATIC);
}

static inline int odograph_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return count > 0 ? sqlite3_bind_blob(statement, index, bytes, count, SQLITE_STATIC)
                   : sqlite3_bind_zeroblob(statement, index, 0);
}

// Swift does not import variadic functions. Call this before SQLite's first use; later calls have no effect.
static inline int odograph_sqlite_without_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
