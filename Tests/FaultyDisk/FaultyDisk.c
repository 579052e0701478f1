#include "FaultyDisk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

// A VFS over the default one ("The OS Backend", sqlite.org/vfs.html) with simulated faults of its files.

struct faulty_file {
  sqlite3_file base;
  sqlite3_file *real;
  char path[512];
};

static sqlite3_vfs *original;
static sqlite3_vfs faulty;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char prefix[512];
  enum FaultyDiskOperation operation;
  int code, countdown, failures;
} fault;

void faulty_disk_break(
    const char *prefix, enum FaultyDiskOperation operation, int code, int countdown, int failures) {
  pthread_mutex_lock(&lock);
  strncpy(fault.prefix, prefix, sizeof fault.prefix - 1);
  fault.operation = operation;
  fault.code = code;
  fault.countdown = countdown;
  fault.failures = failures;
  pthread_mutex_unlock(&lock);
}

void faulty_disk_repair(void) { faulty_disk_break("", FAULTY_DISK_WRITE, SQLITE_OK, 0, 0); }

// Returns the error code of an operation; SQLITE_OK without a fault.
static int failure(const char *path, enum FaultyDiskOperation operation) {
  int code = SQLITE_OK;
  pthread_mutex_lock(&lock);
  if (fault.failures != 0 && fault.operation == operation &&
      strncmp(path, fault.prefix, strlen(fault.prefix)) == 0) {
    if (fault.countdown > 0) {
      fault.countdown -= 1;
    } else {
      code = fault.code;
      if (fault.failures > 0) fault.failures -= 1;
    }
  }
  pthread_mutex_unlock(&lock);
  return code;
}

#define REAL(file) (((struct faulty_file *)(file))->real)
#define METHODS(file) (REAL(file)->pMethods)
#define FAIL(file, operation)                                                    \
  do {                                                                           \
    int code = failure(((struct faulty_file *)(file))->path, operation);         \
    if (code != SQLITE_OK) return code;                                          \
  } while (0)

static int file_close(sqlite3_file *f) { return METHODS(f)->xClose(REAL(f)); }
static int file_read(sqlite3_file *f, void *bytes, int count, sqlite3_int64 offset) {
  FAIL(f, FAULTY_DISK_READ);
  return METHODS(f)->xRead(REAL(f), bytes, count, offset);
}
static int file_write(sqlite3_file *f, const void *bytes, int count, sqlite3_int64 offset) {
  FAIL(f, FAULTY_DISK_WRITE);
  return METHODS(f)->xWrite(REAL(f), bytes, count, offset);
}
static int file_truncate(sqlite3_file *f, sqlite3_int64 size) { return METHODS(f)->xTruncate(REAL(f), size); }
static int file_sync(sqlite3_file *f, int flags) {
  FAIL(f, FAULTY_DISK_SYNC);
  return METHODS(f)->xSync(REAL(f), flags);
}
static int file_size(sqlite3_file *f, sqlite3_int64 *size) { return METHODS(f)->xFileSize(REAL(f), size); }
static int file_lock(sqlite3_file *f, int level) { return METHODS(f)->xLock(REAL(f), level); }
static int file_unlock(sqlite3_file *f, int level) { return METHODS(f)->xUnlock(REAL(f), level); }
static int file_reserved(sqlite3_file *f, int *is) { return METHODS(f)->xCheckReservedLock(REAL(f), is); }
static int file_control(sqlite3_file *f, int op, void *argument) {
  return METHODS(f)->xFileControl(REAL(f), op, argument);
}
static int file_sector(sqlite3_file *f) { return METHODS(f)->xSectorSize(REAL(f)); }
static int file_device(sqlite3_file *f) { return METHODS(f)->xDeviceCharacteristics(REAL(f)); }
static int shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **place) {
  return METHODS(f)->xShmMap(REAL(f), page, size, extend, place);
}
static int shm_lock(sqlite3_file *f, int offset, int n, int flags) {
  return METHODS(f)->xShmLock(REAL(f), offset, n, flags);
}
static void shm_barrier(sqlite3_file *f) { METHODS(f)->xShmBarrier(REAL(f)); }
static int shm_unmap(sqlite3_file *f, int flag) { return METHODS(f)->xShmUnmap(REAL(f), flag); }

// Version 2 has no memory-mapped pages, which would bypass reads.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
  struct faulty_file *file = (struct faulty_file *)f;
  (void)vfs;
  memset(file, 0, sizeof *file);
  file->real = (sqlite3_file *)(file + 1);
  if (name) strncpy(file->path, name, sizeof file->path - 1);
  int code = original->xOpen(original, name, file->real, flags, out);
  if (file->real->pMethods) file->base.pMethods = &methods;
  return code;
}

int faulty_disk_install(void) {
  int code = SQLITE_OK;
  pthread_mutex_lock(&lock);
  if (!original) {
    original = sqlite3_vfs_find(NULL);
    faulty = *original;
    faulty.zName = "faulty";
    faulty.szOsFile = (int)sizeof(struct faulty_file) + original->szOsFile;
    faulty.xOpen = vfs_open;
    code = sqlite3_vfs_register(&faulty, 1);
  }
  pthread_mutex_unlock(&lock);
  return code;
}
