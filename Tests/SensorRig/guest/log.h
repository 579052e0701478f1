// What happened, in order, for the host to read.
#pragma once

#include <stddef.h>

// Adds "<UTC ns> <text> boottime=<ns>". The oldest events go when there are too many.
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Copies event number `index` (the first ever is 0) into `line`, without a newline.
// Returns the index of the event after it, or `index` when there is none yet.
size_t log_read(size_t index, char *line, size_t size);
// Waits until there is an event number `index`, for half a second at most.
void log_wait(size_t index);
