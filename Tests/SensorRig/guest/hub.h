// The emulated sensor hub: a HID device behind /dev/uhid, and the thread that sends its reports.
#pragma once

#include "recording.h"

#include <stdio.h>

// Clock of the timestamps in the input reports.
enum timestamp_clock { CLOCK_OF_DEVICE, CLOCK_OF_KERNEL, CLOCK_FIXED };

struct hub_options {
    struct hub_layout layout;
    enum timestamp_clock clock;
    int fixed_clock; // a clockid_t, for CLOCK_FIXED
};

// All functions may be called from any thread. Functions that return text return NULL or an error.
void hub_start(void);
struct hub_options hub_default_options(void);
const char *hub_create(const struct hub_options *options);
const char *hub_remove(void);
// Moves the rows out of `recording`.
const char *hub_load(struct recording *recording);
const char *hub_play(int64_t delay_ns);
const char *hub_stop(void);
const char *hub_pause(bool paused);
void hub_mute(bool muted);
void hub_idle(bool on);
void hub_set_idle_value(int column, double value);
// Call this after setting the wall clock.
void hub_clocks_changed(void);
void hub_print_status(FILE *out);
