#include "log.h"

#include "clocks.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { KEPT = 16384, LENGTH = 160 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static char events[KEPT][LENGTH];
static size_t count;

void log_event(const char *format, ...) {
    char text[LENGTH - 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    snprintf(events[count++ % KEPT], LENGTH, "%lld %s boottime=%lld", (long long)clock_ns(CLOCK_REALTIME), text,
             (long long)clock_ns(CLOCK_BOOTTIME));
    pthread_cond_broadcast(&added);
    pthread_mutex_unlock(&lock);
}

size_t log_read(size_t index, char *line, size_t size) {
    pthread_mutex_lock(&lock);
    if (count > KEPT && index < count - KEPT) index = count - KEPT;
    if (index < count) snprintf(line, size, "%s", events[index++ % KEPT]);
    pthread_mutex_unlock(&lock);
    return index;
}

void log_wait(size_t index) {
    int64_t until = clock_ns(CLOCK_REALTIME) + 500000000;
    struct timespec deadline = {until / 1000000000, until % 1000000000};
    pthread_mutex_lock(&lock);
    // A spurious wake-up or a clock change only makes the caller check again.
    if (index >= count) pthread_cond_timedwait(&added, &lock, &deadline);
    pthread_mutex_unlock(&lock);
}
