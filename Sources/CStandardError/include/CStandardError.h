#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Libraries write to standard error what the agent's log should have, limited. A pipe is put in the place of descriptor 2, and
// the agent reads it. What a crash writes must not end in that pipe: a handler of the signals that end a process by its own fault
// writes what is in it to the real standard error.

/// Puts the pipe in place. False when there is no room for another descriptor; all is as before then.
bool standard_error_capture(void);

/// Where the real standard error is: descriptor 2, or what has been kept of it.
int standard_error_descriptor(void);

/// Waits for something to be written, and for the end of the crash that may have written it; then reads it. What was read stays
/// where a crash finds it until the next call. Returns -1 when it is over.
ssize_t standard_error_read(const unsigned char **bytes);

/// Gives descriptor 2 back, and lets `standard_error_read` return what there still is, and then -1.
void standard_error_restore(void);

/// Closes the pipe; `standard_error_read` must have returned -1.
void standard_error_close(void);
