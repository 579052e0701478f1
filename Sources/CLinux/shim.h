#pragma once
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <wchar.h>

// Swift's Glibc module is compiled without _GNU_SOURCE, which hides these. They are declared here, once, with
// the signatures of pthread_setname_np(3), of the XSI strerror_r(3), of wcwidth(3) and of unshare(2).
int pthread_setname_np(unsigned long thread, const char *name);
int __xpg_strerror_r(int code, char *buffer, size_t size);
int wcwidth(wchar_t character);
int unshare(int flags);

// Flags are enums on some C libraries and macros on others; Swift imports constants alike.
static const int odograph_efd_flags = EFD_NONBLOCK | EFD_CLOEXEC;
static const int odograph_sfd_flags = SFD_NONBLOCK | SFD_CLOEXEC;
static const int odograph_tfd_flags = TFD_NONBLOCK | TFD_CLOEXEC;
static const int odograph_tfd_absolute = TFD_TIMER_ABSTIME;
static const int odograph_clone_newns = 0x00020000;
static const unsigned long odograph_ms_private = MS_REC | MS_PRIVATE;
static const unsigned long odograph_ms_bind = MS_BIND | MS_REC;

// Whether nothing keeps the wall clock right, as far as adjtimex(2) tells.
static inline int odograph_clock_is_unsynchronized(void) {
  struct timex state = {0};
  int result = adjtimex(&state);
  return result < 0 || (state.status & STA_UNSYNC) != 0;
}

// Whether a folder is in memory; no where it cannot be told. Swift's Glibc module has no statfs(2).
static inline int odograph_is_in_memory(const char *path) {
  struct statfs status;
  if (statfs(path, &status) != 0) return 0;
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

// ptrace(2) takes variable arguments. These stop one thread of another process, and let it go on.
static inline long odograph_ptrace_stop(int thread) {
  long result = ptrace(PTRACE_SEIZE, thread, 0, 0);
  return result == 0 ? ptrace(PTRACE_INTERRUPT, thread, 0, 0) : result;
}
static inline long odograph_ptrace_release(int thread) { return ptrace(PTRACE_DETACH, thread, 0, 0); }
// renameat2(2) with RENAME_EXCHANGE, which not every C library has.
static inline long odograph_exchange(const char *path, const char *other) {
  return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 1U << 1);
}
// The same with RENAME_NOREPLACE.
static inline long odograph_rename_new(const char *path, const char *name) {
  return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, name, 1U << 0);
}
static const int odograph_wait_all = 0x40000000;  // __WALL
