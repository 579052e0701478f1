#include "clocks.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Names of clocks in IIO. A name that is a prefix of another one follows it.
static const struct { const char *name; int clock; } clocks[] = {
    {"realtime_coarse", CLOCK_REALTIME_COARSE}, {"realtime", CLOCK_REALTIME},
    {"monotonic_raw", CLOCK_MONOTONIC_RAW},     {"monotonic_coarse", CLOCK_MONOTONIC_COARSE},
    {"monotonic", CLOCK_MONOTONIC},             {"boottime", CLOCK_BOOTTIME},
    {"tai", CLOCK_TAI}};
enum { COUNT = sizeof clocks / sizeof clocks[0] };
static int64_t offsets[COUNT];

int64_t clock_ns(int clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void clocks_measure(void) {
    for (int i = 0; i < COUNT; i++)
        offsets[i] = clocks[i].clock == CLOCK_MONOTONIC ? 0 : clock_ns(clocks[i].clock) - clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_offset_ns(int clock) {
    for (int i = 0; i < COUNT; i++)
        if (clocks[i].clock == clock) return offsets[i];
    return 0;
}

int iio_clock_open(const char *iio_name) {
    int found = -1;
    glob_t devices;
    if (glob("/sys/bus/iio/devices/iio:device*", 0, NULL, &devices) != 0) return -1;
    for (size_t i = 0; i < devices.gl_pathc && found < 0; i++) {
        char path[128], name[32] = "";
        snprintf(path, sizeof path, "%s/name", devices.gl_pathv[i]);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%31s", name) == 1 && strcmp(name, iio_name) == 0) {
            snprintf(path, sizeof path, "%s/current_timestamp_clock", devices.gl_pathv[i]);
            found = open(path, O_RDONLY | O_CLOEXEC);
        }
        fclose(file);
    }
    globfree(&devices);
    return found;
}

int iio_clock_read(int file) {
    char text[32] = "";
    if (file >= 0 && pread(file, text, sizeof text - 1, 0) > 0)
        for (int i = 0; i < COUNT; i++)
            if (strncmp(text, clocks[i].name, strlen(clocks[i].name)) == 0) return clocks[i].clock;
    return CLOCK_REALTIME;
}
