// Event log in order of time, for the host.
#pragma once

#include <stddef.h>

// Adds "<UTC ns> <text> boottime=<ns>". Drops the oldest events if there are too many.
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Copies event number `index` (the first one is 0) into `line`, without a newline.
// Returns the index of the next event, or `index` if there is none yet.
size_t log_read(size_t index, char *line, size_t size);
// Waits up to 0.5 s for event number `index`.
void log_wait(size_t index);
