#pragma once

/// Kinds of operations that can fail.
enum FaultyDiskOperation {
  FAULTY_DISK_WRITE,
  FAULTY_DISK_SYNC,
  FAULTY_DISK_READ,
};

/// Installs the VFS for databases that are opened from now on. Further calls have no effect.
int faulty_disk_install(void);

/// Makes operations fail with an SQLite code on files whose path begins with `prefix`.
/// - `countdown`: number of operations that succeed first.
/// - `failures`: number of operations that fail; negative for all later ones.
/// There is one fault at a time. A further call replaces it.
void faulty_disk_break(const char *prefix, enum FaultyDiskOperation operation, int code, int countdown, int failures);

/// Removes the fault.
void faulty_disk_repair(void);
