#define _GNU_SOURCE
#include "CStandardError.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static int kept = -1, reader = -1, writer = -1;
static atomic_bool is_over;

// Data of the last read, for the handler.
static unsigned char piece[1 << 16];
static _Atomic size_t piece_size;
static atomic_bool is_reading;

static const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGSYS};
enum { crash_count = sizeof crashes / sizeof *crashes };
static struct sigaction before[crash_count];

static void pause_for(long milliseconds) {
  struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

static void write_whole(int descriptor, const unsigned char *bytes, size_t size) {
  while (size > 0) {
    ssize_t count = write(descriptor, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes += count;
    size -= (size_t)count;
  }
}

// Uses only functions that signal-safety(7) permits.
static void on_crash(int number, siginfo_t *info, void *context) {
  (void)context;
  int error = errno;
  for (int i = 0; i < crash_count; i++) sigaction(crashes[i], &before[i], NULL);
  for (int i = 0; i < 100 && atomic_load(&is_reading); i++) pause_for(1);
  // A part may already be in the log; a duplicate is better than a loss.
  write_whole(kept, piece, atomic_load(&piece_size));
  unsigned char bytes[1024];
  ssize_t count;
  while ((count = read(reader, bytes, sizeof bytes)) > 0) write_whole(kept, bytes, (size_t)count);
  dup2(kept, STDERR_FILENO);
  errno = error;
  // A fault is raised again after the return, since its instruction is repeated. A signal sent by another process
  // would not be.
  if (info->si_code <= 0) raise(number);
}

bool standard_error_capture(void) {
  if (kept >= 0) return false;
  int ends[2];
  int real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (real < 0) return false;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    close(real);
    return false;
  }
  kept = real;
  reader = ends[0];
  // Libraries never wait for the log: data that exceed the pipe are lost.
  writer = ends[1];
  atomic_store(&is_over, false);
  atomic_store(&piece_size, 0);
  struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < crash_count; i++) sigaction(crashes[i], &action, &before[i]);
  dup2(writer, STDERR_FILENO);
  return true;
}

int standard_error_descriptor(void) { return kept >= 0 ? kept : STDERR_FILENO; }

ssize_t standard_error_read(const unsigned char **bytes) {
  // A crash follows its message within this time. The message is then in the pipe or in the last data.
  if (atomic_load(&piece_size) > 0) pause_for(20);
  atomic_store(&piece_size, 0);
  while (true) {
    struct pollfd entry = {reader, POLLIN, 0};
    if (!atomic_load(&is_over)) {
      poll(&entry, 1, -1);
      if (!atomic_load(&is_over)) pause_for(20);
    }
    atomic_store(&is_reading, true);
    ssize_t count = read(reader, piece, sizeof piece);
    if (count > 0) atomic_store(&piece_size, (size_t)count);
    atomic_store(&is_reading, false);
    if (count > 0) {
      *bytes = piece;
      return count;
    }
    if (atomic_load(&is_over)) return -1;
  }
}

void standard_error_restore(void) {
  if (kept < 0) return;
  dup2(kept, STDERR_FILENO);
  atomic_store(&is_over, true);
  // Wakes the waiting reader.
  if (write(writer, "\n", 1) < 0) return;
}

void standard_error_close(void) {
  if (kept < 0) return;
  for (int i = 0; i < crash_count; i++) sigaction(crashes[i], &before[i], NULL);
  close(reader);
  close(writer);
  close(kept);
  kept = reader = writer = -1;
}
