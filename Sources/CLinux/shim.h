#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mount.h>

// Swift's Glibc module is compiled without _GNU_SOURCE, which hides these. They are declared here, once, with
// the signatures of pthread_setname_np(3) and of the XSI strerror_r(3).
int pthread_setname_np(unsigned long thread, const char *name);
int __xpg_strerror_r(int code, char *buffer, size_t size);

// EFD_* are an enum on some C libraries and macros on others; Swift imports constants alike.
static const int odograph_efd_flags = EFD_NONBLOCK | EFD_CLOEXEC;

// sigset_t and signalfd(2): sigaddset and friends are functions, but signalfd's header is not in Swift's Glibc.
#include <signal.h>
#include <sys/signalfd.h>

static const int odograph_sfd_flags = SFD_NONBLOCK | SFD_CLOEXEC;

// unshare(2) and its flag, likewise hidden: test fixtures give threads a mount table of their own.
int unshare(int flags);
static const int odograph_clone_newns = 0x00020000;
static const unsigned long odograph_ms_private = MS_REC | MS_PRIVATE;
static const unsigned long odograph_ms_bind = MS_BIND | MS_REC;
