// Clocks of the guest, and the clock of an IIO device.
#pragma once

#include <stdint.h>

int64_t clock_ns(int clock);

// Offsets from CLOCK_MONOTONIC are measured once and not per sample, so that samples retain the exact spacing of
// their recording. Call this at the start and after setting the wall clock.
void clocks_measure(void);
int64_t clock_offset_ns(int clock);

// Opens the attribute current_timestamp_clock of the IIO device with this name; returns -1 if there is none.
int iio_clock_open(const char *iio_name);
// Returns the clock in this attribute; CLOCK_REALTIME (the kernel's default) if it cannot be read.
int iio_clock_read(int file);
