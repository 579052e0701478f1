#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// libmosquitto reads its socket itself, also with TLS, and has no hook between the socket and its parser. It reads
// with `read` and `SSL_read`, which are entries in its table of imported functions (the global offset table). These
// functions replace both entries in libmosquitto only; all other code of the process reads as before.

/// Provides the library with bytes instead of its own read. Returns like `read(2)`, including errno.
typedef ssize_t (*mosquitto_reader)(void *context, void *buffer, size_t count);

/// Buffered bytes: reads use them first, and call the reader only if there are none. libmosquitto reads a packet in
/// at least four pieces.
typedef struct {
  const void *bytes;
  size_t count;
} mosquitto_ready_bytes;

/// Replaces the entries, once per process. Returns false if libmosquitto has none (it is linked statically) or they
/// cannot be written; then readers have no effect.
bool mosquitto_reads_redirect(void);

/// Redirects libmosquitto's reads on this thread to the reader until the next call; NULL ends the redirection.
void mosquitto_reads_through(mosquitto_reader reader, void *context, mosquitto_ready_bytes *ready);

/// Copies buffered bytes. Returns their number.
size_t mosquitto_reads_take(mosquitto_ready_bytes *ready, void *buffer, size_t count);

/// Performs the redirected read on the socket or on TLS. Only for a reader, during its call.
ssize_t mosquitto_reads_receive(void *buffer, size_t count);
