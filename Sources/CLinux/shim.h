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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <wchar.h>

// Swift's Glibc module is compiled without _GNU_SOURCE, which hides these functions. They are declared here with the
// signatures of pthread_setname_np(3), the XSI strerror_r(3), wcwidth(3) and unshare(2).
int pthread_setname_np(unsigned long thread, const char *name);
int __xpg_strerror_r(int code, char *buffer, size_t size);
int wcwidth(wchar_t character);
int unshare(int flags);

// Flags are enums in some C libraries and macros in others. Swift imports constants in the same way everywhere.
static const int odograph_efd_flags = EFD_NONBLOCK | EFD_CLOEXEC;
static const int odograph_sfd_flags = SFD_NONBLOCK | SFD_CLOEXEC;
static const int odograph_tfd_flags = TFD_NONBLOCK | TFD_CLOEXEC;
static const int odograph_tfd_absolute = TFD_TIMER_ABSTIME;
static const int odograph_clone_newns = 0x00020000;
static const unsigned long odograph_ms_private = MS_REC | MS_PRIVATE;
static const unsigned long odograph_ms_bind = MS_BIND | MS_REC;

// Returns 1 if the wall clock is synchronized, by adjtimex(2); -1 if the call is not permitted.
static inline int odograph_clock_is_synchronized(void) {
  struct timex state = {0};
  return adjtimex(&state) < 0 ? -1 : (state.status & STA_UNSYNC) == 0;
}

// Returns 1 if a folder is in memory and only this user writes into it; 0 also if this is unknown. Swift's Glibc
// module has no statfs(2).
static inline int odograph_is_in_memory(const char *path) {
  struct statfs system;
  struct stat folder;
  if (statfs(path, &system) != 0 || stat(path, &folder) != 0) return 0;
  if (folder.st_uid != geteuid() || (folder.st_mode & 022) != 0) return 0;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

// Wrappers of ptrace(2), which is variadic. They stop one thread of another process, and resume it.
static inline long odograph_ptrace_stop(int thread) {
  long result = ptrace(PTRACE_SEIZE, thread, 0, 0);
  return result == 0 ? ptrace(PTRACE_INTERRUPT, thread, 0, 0) : result;
}
static inline long odograph_ptrace_release(int thread) { return ptrace(PTRACE_DETACH, thread, 0, 0); }
// renameat2(2) with RENAME_EXCHANGE, which some C libraries lack.
static inline long odograph_exchange(const char *path, const char *other) {
  return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 1U << 1);
}
// renameat2(2) with RENAME_NOREPLACE.
static inline long odograph_rename_new(const char *path, const char *name) {
  return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, name, 1U << 0);
}
static const int odograph_wait_all = 0x40000000;  // __WALL

// SocketCAN. These headers also exist for a kernel without CAN.
#include <errno.h>
#include <linux/can.h>
#include <linux/can/error.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

// Opens a raw CAN socket that is not bound to an interface. Returns a negative errno on failure.
static inline int odograph_can_socket(void) {
  int descriptor = socket(AF_CAN, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, CAN_RAW);
  return descriptor < 0 ? -errno : descriptor;
}
// Admits frames that match `count` filters (identifier and mask alternately, with the flags of linux/can.h), also FD
// frames, and the controller's error frames if requested. Enables time stamps. Returns 0 or a negative errno.
static inline int odograph_can_prepare(int descriptor, const uint32_t *filters, int count, uint32_t errors) {
  struct can_filter list[CAN_RAW_FILTER_MAX];
  if (count > CAN_RAW_FILTER_MAX) return -E2BIG;
  for (int i = 0; i < count; i++) list[i] = (struct can_filter){filters[2 * i], filters[2 * i + 1]};
  if (setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_FILTER, list, (socklen_t)(count * sizeof list[0])) < 0) return -errno;
  if (setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_ERR_FILTER, &errors, sizeof errors) < 0) return -errno;
  int on = 1, room = 1 << 20;
  // Old kernels have no FD, and then no FD frames. The other options are optional.
  setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_FD_FRAMES, &on, sizeof on);
  setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  return 0;
}
// Binds to an interface by its index. Returns 0 or a negative errno.
static inline int odograph_can_bind(int descriptor, unsigned index) {
  struct sockaddr_can address = {.can_family = AF_CAN, .can_ifindex = (int)index};
  return bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}
// Returns 1 if an interface is up (netdevice(7)), with any socket.
static inline int odograph_interface_is_up(int descriptor, const char *name) {
  struct ifreq request = {0};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  return ioctl(descriptor, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}
// Reads a frame as struct can_frame or canfd_frame into at least CANFD_MTU bytes. Returns its size or a negative
// errno. `stamp` is the kernel's civil time of the frame in ns; 0 if there is none.
static inline long odograph_can_receive(int descriptor, void *frame, int64_t *stamp) {
  union { char bytes[128]; struct cmsghdr align; } control;
  struct iovec part = {frame, CANFD_MTU};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size = recvmsg(descriptor, &message, MSG_DONTWAIT);
  if (size < 0) return -errno;
  *stamp = 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(part), sizeof time);
    *stamp = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  }
  return size;
}
