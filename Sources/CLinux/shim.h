#pragma once
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
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
static const int odograph_clone_newns = 0x00020000;
static const unsigned long odograph_ms_private = MS_REC | MS_PRIVATE;
static const unsigned long odograph_ms_bind = MS_BIND | MS_REC;
