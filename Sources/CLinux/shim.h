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

// Whether something keeps the wall clock right, by adjtimex(2); -1 where that may not be called.
static inline int odograph_clock_is_synchronized(void) {
  struct timex state = {0};
  return adjtimex(&state) < 0 ? -1 : (state.status & STA_UNSYNC) == 0;
}

// Whether a folder is in memory and only this user writes into it; no where it cannot be told. Swift's Glibc module has no statfs(2).
static inline int odograph_is_in_memory(const char *path) {
  struct statfs system;
  struct stat folder;
  if (statfs(path, &system) != 0 || stat(path, &folder) != 0) return 0;
  if (folder.st_uid != geteuid() || (folder.st_mode & 022) != 0) return 0;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
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

// SocketCAN. A kernel without CAN has these headers all the same.
#include <errno.h>
#include <linux/can.h>
#include <linux/can/error.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

// A raw CAN socket that is bound to no interface yet, or the negative errno.
static inline int odograph_can_socket(void) {
  int descriptor = socket(AF_CAN, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, CAN_RAW);
  return descriptor < 0 ? -errno : descriptor;
}
// Lets the frames of `count` filters through (identifier and mask in turn, with the flags of linux/can.h), FD frames too, and
// the controller's errors where they are asked for; stamps each frame. 0 or the negative errno.
static inline int odograph_can_prepare(int descriptor, const uint32_t *filters, int count, uint32_t errors) {
  struct can_filter list[CAN_RAW_FILTER_MAX];
  if (count > CAN_RAW_FILTER_MAX) return -E2BIG;
  for (int i = 0; i < count; i++) list[i] = (struct can_filter){filters[2 * i], filters[2 * i + 1]};
  if (setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_FILTER, list, (socklen_t)(count * sizeof list[0])) < 0) return -errno;
  if (setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_ERR_FILTER, &errors, sizeof errors) < 0) return -errno;
  int on = 1, room = 1 << 20;
  // Old kernels have no FD; then there are no such frames either. The rest is worth having and not needed.
  setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_FD_FRAMES, &on, sizeof on);
  setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  return 0;
}
// Binds to an interface by its index. 0 or the negative errno.
static inline int odograph_can_bind(int descriptor, unsigned index) {
  struct sockaddr_can address = {.can_family = AF_CAN, .can_ifindex = (int)index};
  return bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}
// Whether an interface is up (netdevice(7)). Any socket will do.
static inline int odograph_interface_is_up(int descriptor, const char *name) {
  struct ifreq request = {0};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  return ioctl(descriptor, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}
// One frame, as struct can_frame or canfd_frame has it, into at least CANFD_MTU bytes. Returns its size or the negative errno; `stamp` is
// the kernel's civil time of it in ns, 0 where there is none.
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
