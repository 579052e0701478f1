#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// libmosquitto reads its socket itself, TLS included, and offers no place between the socket and its parser. Its two ways to
// read, `read` and `SSL_read`, are entries in its own table of imported functions (the global offset table). These functions
// replace those two entries, of libmosquitto alone: the rest of the process reads as before.

/// Given to the library in place of what it would have read. Returns like `read(2)`, errno included.
typedef ssize_t (*mosquitto_reader)(void *context, void *buffer, size_t count);

/// Bytes that lie ready: reads take them from here, and go to the reader only when there are none. libmosquitto reads a packet
/// in four pieces or more.
typedef struct {
  const void *bytes;
  size_t count;
} mosquitto_ready_bytes;

/// Replaces the entries, once per process. False when libmosquitto has none (it is linked statically) or they cannot be
/// written; nothing passes through readers then.
bool mosquitto_reads_redirect(void);

/// From here to the next call, what libmosquitto reads on this thread goes to the reader; NULL ends that.
void mosquitto_reads_through(mosquitto_reader reader, void *context, mosquitto_ready_bytes *ready);

/// Takes bytes that lie ready. Returns how many.
size_t mosquitto_reads_take(mosquitto_ready_bytes *ready, void *buffer, size_t count);

/// What the read that is being redirected would have been: bytes of the socket, or of TLS. Only for a reader, while it is called.
ssize_t mosquitto_reads_receive(void *buffer, size_t count);
