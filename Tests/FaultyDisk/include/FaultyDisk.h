#pragma once

/// From which operation on the files of a folder fail.
enum FaultyDiskOperation {
  FAULTY_DISK_WRITE,
  FAULTY_DISK_SYNC,
  FAULTY_DISK_READ,
};

/// Puts itself between SQLite and the disk, for databases that are opened from now on. Once is enough.
int faulty_disk_install(void);

/// Has operations on files whose path begins with `prefix` fail with an SQLite code.
/// - `countdown`: so many of the operations succeed first.
/// - `failures`: how many fail; negative means all from then on.
/// There is one fault at a time; another takes its place.
void faulty_disk_break(const char *prefix, enum FaultyDiskOperation operation, int code, int countdown, int failures);

/// No more faults.
void faulty_disk_repair(void);
