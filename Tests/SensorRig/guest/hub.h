// The emulated sensor hub: a HID device behind /dev/uhid, and the thread that makes it report.
#pragma once

#include "recording.h"

#include <stdio.h>

// Which clock the timestamps in the input reports show.
enum timestamp_clock { CLOCK_OF_DEVICE, CLOCK_OF_KERNEL, CLOCK_FIXED };

struct hub_options {
    struct hub_layout layout;
    enum timestamp_clock clock;
    int fixed_clock; // a clockid_t, for CLOCK_FIXED
};

// All functions may be called from any thread. Those that return text return NULL or what went wrong.
void hub_start(void);
struct hub_options hub_default_options(void);
const char *hub_create(const struct hub_options *options);
const char *hub_remove(void);
// Takes the rows out of `recording`.
const char *hub_load(struct recording *recording);
const char *hub_play(int64_t delay_ns);
const char *hub_stop(void);
const char *hub_pause(bool paused);
void hub_mute(bool muted);
void hub_idle(bool on);
void hub_set_idle_value(int column, double value);
// To be called after the wall clock was set.
void hub_clocks_changed(void);
void hub_print_status(FILE *out);
