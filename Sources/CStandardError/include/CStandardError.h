#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Libraries write messages for the agent's log to standard error. A pipe replaces descriptor 2, and the agent reads
// it with limits. Messages of a crash must not remain in that pipe: a handler of the signals of fatal faults copies
// its contents to the original standard error.

/// Installs the pipe. Returns false, without any change, if no descriptor is available.
bool standard_error_capture(void);

/// Returns the original standard error: descriptor 2, or its duplicate.
int standard_error_descriptor(void);

/// Waits for data, and for the end of a crash that may have written it; then reads it. The data remain available to
/// the crash handler until the next call. Returns -1 at the end.
ssize_t standard_error_read(const unsigned char **bytes);

/// Restores descriptor 2. `standard_error_read` then returns the remaining data, and finally -1.
void standard_error_restore(void);

/// Closes the pipe; `standard_error_read` must have returned -1.
void standard_error_close(void);
