// The clocks of the guest, and which of them an IIO device uses.
#pragma once

#include <stdint.h>

int64_t clock_ns(int clock);

// Offsets from CLOCK_MONOTONIC are measured once, not per sample, so that samples keep the exact spacing of their
// recording. To be called at the start and when the wall clock was set.
void clocks_measure(void);
int64_t clock_offset_ns(int clock);

// The attribute current_timestamp_clock of the IIO device with that name, opened; -1 if there is none.
int iio_clock_open(const char *iio_name);
// The clock it names, CLOCK_REALTIME (the kernel's default) when it cannot be read.
int iio_clock_read(int file);
