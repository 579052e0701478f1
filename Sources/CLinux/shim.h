#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <wchar.h>

// Swift's Glibc module is compiled without _GNU_SOURCE, which hides these. They are declared here, once, with
// the signatures of pthread_setname_np(3), of the XSI strerror_r(3) and of wcwidth(3).
int pthread_setname_np(unsigned long thread, const char *name);
int __xpg_strerror_r(int code, char *buffer, size_t size);
int wcwidth(wchar_t character);

// EFD_* are an enum on some C libraries and macros on others; Swift imports constants alike.
static const int odograph_efd_flags = EFD_NONBLOCK | EFD_CLOEXEC;
static const int odograph_sfd_flags = SFD_NONBLOCK | SFD_CLOEXEC;
