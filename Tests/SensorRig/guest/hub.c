#include "hub.h"

#include "clocks.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/uhid.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_INTERVAL_MS = 100, SHORTEST_INTERVAL_MS = 1, LONGEST_INTERVAL_MS = 60000 };
static const int64_t NEVER = INT64_MAX;

struct sensor_state {
    struct features features;
    int64_t next_ns;       // time of the next report while no recording is played; 0: now
    int64_t row_due_ns;    // in the recording's time: rows before this are skipped
    int32_t raw[3];        // last values, also returned by a poll of the sensor
    int32_t reported[3];   // last reported values, for the change sensitivity
    bool fresh;            // no report since power on
    int clock_file;        // the IIO device's current_timestamp_clock, or -1
    uint64_t sent, clipped;
};

static struct {
    pthread_mutex_t lock;
    int uhid; // -1: no device
    int wake; // eventfd: something changed for the sensor thread
    struct hub_options options;
    struct sensor_state sensors[SENSOR_COUNT];
    struct recording recording;
    bool playing, paused, muted, idle;
    double idle_values[COLUMN_COUNT];
    size_t next_row;
    int64_t start_ns;   // CLOCK_MONOTONIC at the recording's first row
    int64_t paused_ns;  // CLOCK_MONOTONIC at the pause
    int64_t latest_ns;  // largest delay of a report
} hub = {.lock = PTHREAD_MUTEX_INITIALIZER, .uhid = -1, .wake = -1, .idle = true,
         .idle_values = {0, 0, 9.80665, 0, 0, 0, 20, 0, -45, 101325}};

static void lock(void) { pthread_mutex_lock(&hub.lock); }
static void unlock(void) { pthread_mutex_unlock(&hub.lock); }

static const char *unlock_with(const char *problem) {
    unlock();
    uint64_t one = 1;
    (void)!write(hub.wake, &one, sizeof one); // can only fail if it is already readable
    return problem;
}

// MARK: the HID device

static void send_event(struct uhid_event *event, size_t payload) {
    size_t size = sizeof event->type + payload;
    if (write(hub.uhid, event, size) != (ssize_t)size) log_event("rig uhid-write-failed errno=%d", errno);
}

static void log_features(enum sensor sensor) {
    const struct features *f = &hub.sensors[sensor].features;
    log_event("%s power=%s interval=%u reporting=%s sensitivity=%u", sensor_kinds[sensor].name,
              power_names[f->power], f->interval_ms, reporting_names[f->reporting], f->sensitivity);
}

static bool is_on(const struct sensor_state *state) {
    return state->features.power == POWER_FULL && state->features.reporting == REPORTING_ALL;
}

static void set_report(const struct uhid_set_report_req *request) {
    struct uhid_event reply = {.type = UHID_SET_REPORT_REPLY};
    reply.u.set_report_reply.id = request->id;
    int sensor = request->rnum - 1;
    struct features wanted;
    if (sensor < 0 || sensor >= SENSOR_COUNT || !hub.options.layout.present[sensor] ||
        request->rtype != UHID_FEATURE_REPORT || !unpack_features(request->data, request->size, &wanted)) {
        reply.u.set_report_reply.err = EIO;
    } else {
        struct sensor_state *state = &hub.sensors[sensor];
        bool was_on = is_on(state);
        // The kernel sends every field of the report, with zero for fields that it has not read yet.
        if (wanted.power == 0) wanted.power = state->features.power;
        if (wanted.reporting == 0) wanted.reporting = state->features.reporting;
        if (wanted.interval_ms == 0) wanted.interval_ms = DEFAULT_INTERVAL_MS;
        if (wanted.interval_ms < SHORTEST_INTERVAL_MS) wanted.interval_ms = SHORTEST_INTERVAL_MS;
        if (wanted.interval_ms > LONGEST_INTERVAL_MS) wanted.interval_ms = LONGEST_INTERVAL_MS;
        state->features = wanted;
        if (is_on(state) && !was_on) {
            state->next_ns = 0;
            state->row_due_ns = INT64_MIN;
            state->fresh = true;
        }
        log_features(sensor);
    }
    send_event(&reply, sizeof reply.u.set_report_reply);
}

static void get_report(const struct uhid_get_report_req *request) {
    struct uhid_event reply = {.type = UHID_GET_REPORT_REPLY};
    struct uhid_get_report_reply_req *answer = &reply.u.get_report_reply;
    answer->id = request->id;
    int sensor = request->rnum - 1;
    if (sensor < 0 || sensor >= SENSOR_COUNT || !hub.options.layout.present[sensor]) {
        answer->err = EIO;
    } else if (request->rtype == UHID_FEATURE_REPORT) {
        answer->size = (uint16_t)pack_features(sensor, &hub.sensors[sensor].features, answer->data);
    } else {
        int64_t now = clock_ns(CLOCK_REALTIME);
        answer->size = (uint16_t)pack_input(&hub.options.layout, sensor, hub.sensors[sensor].raw, now, answer->data);
    }
    send_event(&reply, sizeof *answer);
}

static void handle_kernel(void) {
    struct uhid_event event;
    while (hub.uhid >= 0 && read(hub.uhid, &event, sizeof event) > 0) {
        switch (event.type) {
        case UHID_OPEN: log_event("hub open"); break;
        case UHID_CLOSE: log_event("hub close"); break;
        case UHID_GET_REPORT: get_report(&event.u.get_report); break;
        case UHID_SET_REPORT: set_report(&event.u.set_report); break;
        default: break;
        }
    }
}

// MARK: reporting

// Returns the clock of the sensor's timestamps. The kernel passes HID timestamps on without regard to
// current_timestamp_clock. Following this attribute makes the hub similar to a chip whose driver reads the time. The
// attribute is read per sample, since the kernel does not report changes and clients set it just before a capture.
static int timestamp_clock(enum sensor sensor) {
    if (hub.options.clock == CLOCK_FIXED) return hub.options.fixed_clock;
    struct sensor_state *state = &hub.sensors[sensor];
    if (state->clock_file < 0) state->clock_file = iio_clock_open(sensor_kinds[sensor].iio_name);
    return iio_clock_read(state->clock_file);
}

static void set_values(enum sensor sensor, const double *columns) {
    bool clipped = false;
    for (int axis = 0; axis < sensor_kinds[sensor].axes; axis++)
        hub.sensors[sensor].raw[axis] =
            quantise(&hub.options.layout, sensor, columns[sensor_kinds[sensor].column + axis], &clipped);
    if (clipped) hub.sensors[sensor].clipped++;
}

static bool changed_enough(struct sensor_state *state) {
    if (state->features.sensitivity == 0 || state->fresh) return true;
    for (int axis = 0; axis < 3; axis++)
        if (llabs((long long)state->raw[axis] - state->reported[axis]) >= state->features.sensitivity) return true;
    return false;
}

// Sends the sensor's current values as a sample of the time `monotonic_ns`.
static void report(enum sensor sensor, int64_t monotonic_ns, int64_t now) {
    struct sensor_state *state = &hub.sensors[sensor];
    if (hub.muted || !changed_enough(state)) return;
    struct uhid_event event = {.type = UHID_INPUT2};
    int64_t stamp = hub.options.layout.timestamp ? monotonic_ns + clock_offset_ns(timestamp_clock(sensor)) : 0;
    event.u.input2.size = (uint16_t)pack_input(&hub.options.layout, sensor, state->raw, stamp, event.u.input2.data);
    send_event(&event, offsetof(struct uhid_input2_req, data) + event.u.input2.size);
    memcpy(state->reported, state->raw, sizeof state->reported);
    state->fresh = false;
    state->sent++;
    if (now - monotonic_ns > hub.latest_ns) hub.latest_ns = now - monotonic_ns;
}

// Simulates a chip that converts at the recording's rate and drops samples faster than the requested interval.
static void play_row(const struct row *row, int64_t at, int64_t now) {
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        struct sensor_state *state = &hub.sensors[sensor];
        if (!hub.options.layout.present[sensor] || !row_has(row, sensor)) continue;
        set_values(sensor, row->value);
        if (!is_on(state)) continue;
        int64_t interval = (int64_t)state->features.interval_ms * 1000000;
        if (row->t_ns + interval / 10 < state->row_due_ns) continue;
        // On the grid of the interval, so that the mean rate is correct even if the interval is not a multiple of the
        // row's spacing.
        bool behind = state->row_due_ns == INT64_MIN || row->t_ns - state->row_due_ns >= interval;
        state->row_due_ns = (behind ? row->t_ns : state->row_due_ns) + interval;
        state->next_ns = at + interval;
        report(sensor, at, now);
    }
}

// Reports the due rows and returns the time of the next one.
static int64_t play(int64_t now) {
    struct recording *recording = &hub.recording;
    while (hub.next_row < recording->count) {
        const struct row *row = &recording->rows[hub.next_row];
        int64_t at = hub.start_ns + row->t_ns - recording->rows[0].t_ns;
        if (at > now) return at;
        play_row(row, at, now);
        hub.next_row++;
    }
    hub.playing = false;
    log_event("rig play-end rows=%zu", recording->count);
    return now;
}

// Reports constant values at each sensor's own interval.
static int64_t rest(int64_t now) {
    int64_t next = NEVER;
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        struct sensor_state *state = &hub.sensors[sensor];
        if (!hub.options.layout.present[sensor]) continue;
        if (!hub.paused) set_values(sensor, hub.idle_values);
        if (!is_on(state)) continue;
        int64_t interval = (int64_t)state->features.interval_ms * 1000000;
        if (state->next_ns == 0 || now - state->next_ns > 1000000000) state->next_ns = now;
        while (state->next_ns <= now) {
            report(sensor, state->next_ns, now);
            state->next_ns += interval;
        }
        if (state->next_ns < next) next = state->next_ns;
    }
    return next;
}

static int64_t report_what_is_due(void) {
    if (hub.uhid < 0) return NEVER;
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (hub.playing && !hub.paused) {
        // Before the recording starts, sensors report the values at rest.
        if (now >= hub.start_ns || !hub.idle) return play(now);
        int64_t next = rest(now);
        return next < hub.start_ns ? next : hub.start_ns;
    }
    return hub.idle || hub.paused ? rest(now) : NEVER;
}

static void *run(void *unused) {
    (void)unused;
    // Higher priority than iiod and all other programs of the guest: the timing of hardware does not depend on its
    // readers.
    struct sched_param priority = {.sched_priority = 10};
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    for (;;) {
        lock();
        int64_t next = report_what_is_due();
        struct pollfd files[2] = {{.fd = hub.uhid, .events = POLLIN}, {.fd = hub.wake, .events = POLLIN}};
        unlock();
        int64_t wait = next == NEVER ? 1000000000 : next - clock_ns(CLOCK_MONOTONIC);
        if (wait < 0) wait = 0;
        struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        if (ppoll(files, 2, &timeout, NULL) <= 0) continue;
        uint64_t count;
        (void)!read(hub.wake, &count, sizeof count); // empty if only the kernel sent an event
        lock();
        handle_kernel();
        unlock();
    }
    return NULL;
}

// MARK: commands

void hub_start(void) {
    hub.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    clocks_measure();
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        perror("hid-sensors: cannot start the sensor thread");
        exit(1);
    }
}

struct hub_options hub_default_options(void) {
    return (struct hub_options){
        .layout = {.bits = 32, .timestamp = true, .present = {[ACCEL] = true, [GYRO] = true, [MAGN] = true}},
        .clock = CLOCK_OF_DEVICE};
}

const char *hub_create(const struct hub_options *options) {
    lock();
    if (hub.uhid >= 0) return unlock_with("the device exists already");
    struct uhid_event event = {.type = UHID_CREATE2};
    struct uhid_create2_req *create = &event.u.create2;
    int fd = open("/dev/uhid", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return unlock_with("cannot open /dev/uhid");
    strcpy((char *)create->name, "Odograph sensor rig");
    create->bus = 0x03; // USB
    create->vendor = 0x1209; // pid.codes, its product for tests
    create->product = 0x0001;
    create->rd_size = (uint16_t)make_descriptor(&options->layout, create->rd_data, sizeof create->rd_data);
    hub.options = *options;
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        struct sensor_state *state = &hub.sensors[sensor];
        *state = (struct sensor_state){.clock_file = -1};
        state->features = (struct features){REPORTING_NONE, POWER_OFF, DEFAULT_INTERVAL_MS, 0};
        set_values(sensor, hub.idle_values);
    }
    hub.uhid = fd;
    send_event(&event, sizeof *create);
    log_event("hub created bits=%d", options->layout.bits);
    return unlock_with(NULL);
}

const char *hub_remove(void) {
    lock();
    if (hub.uhid < 0) return unlock_with("there is no device");
    struct uhid_event event = {.type = UHID_DESTROY};
    send_event(&event, 0);
    close(hub.uhid);
    hub.uhid = -1;
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        if (hub.sensors[sensor].clock_file >= 0) close(hub.sensors[sensor].clock_file);
        hub.sensors[sensor].clock_file = -1;
    }
    log_event("hub removed");
    return unlock_with(NULL);
}

const char *hub_load(struct recording *recording) {
    lock();
    if (hub.playing) return unlock_with("a recording is playing");
    recording_free(&hub.recording);
    hub.recording = *recording;
    memset(recording, 0, sizeof *recording);
    return unlock_with(NULL);
}

const char *hub_play(int64_t delay_ns) {
    lock();
    if (hub.playing) return unlock_with("a recording is playing");
    if (hub.recording.count == 0) return unlock_with("no recording is loaded");
    hub.playing = true;
    hub.paused = false;
    hub.next_row = 0;
    hub.latest_ns = 0;
    hub.start_ns = clock_ns(CLOCK_MONOTONIC) + delay_ns;
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        hub.sensors[sensor].row_due_ns = INT64_MIN;
        hub.sensors[sensor].sent = hub.sensors[sensor].clipped = 0;
    }
    log_event("rig play rows=%zu", hub.recording.count);
    return unlock_with(NULL);
}

const char *hub_stop(void) {
    lock();
    if (!hub.playing) return unlock_with("nothing is playing");
    hub.playing = hub.paused = false;
    log_event("rig play-stopped rows=%zu", hub.next_row);
    return unlock_with(NULL);
}

const char *hub_pause(bool paused) {
    lock();
    if (!hub.playing) return unlock_with("nothing is playing");
    if (paused == hub.paused) return unlock_with(NULL);
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (paused) {
        hub.paused_ns = now;
    } else {
        hub.start_ns += now - hub.paused_ns;
    }
    hub.paused = paused;
    log_event("rig %s rows=%zu", paused ? "paused" : "resumed", hub.next_row);
    return unlock_with(NULL);
}

void hub_mute(bool muted) {
    lock();
    hub.muted = muted;
    log_event("rig %s", muted ? "muted" : "unmuted");
    unlock_with(NULL);
}

void hub_idle(bool on) {
    lock();
    hub.idle = on;
    unlock_with(NULL);
}

void hub_set_idle_value(int column, double value) {
    lock();
    hub.idle_values[column] = value;
    unlock_with(NULL);
}

void hub_clocks_changed(void) {
    lock();
    clocks_measure();
    unlock();
}

void hub_print_status(FILE *out) {
    lock();
    fprintf(out, "time realtime=%lld boottime=%lld monotonic=%lld\n", (long long)clock_ns(CLOCK_REALTIME),
            (long long)clock_ns(CLOCK_BOOTTIME), (long long)clock_ns(CLOCK_MONOTONIC));
    fprintf(out, "device present=%s bits=%d timestamp=%s\n", hub.uhid >= 0 ? "yes" : "no", hub.options.layout.bits,
            hub.options.layout.timestamp ? "hardware" : "kernel");
    fprintf(out, "source state=%s row=%zu rows=%zu idle=%s muted=%s late_max_us=%lld\n",
            !hub.playing ? "idle" : hub.paused ? "paused" : "playing", hub.next_row, hub.recording.count,
            hub.idle ? "on" : "off", hub.muted ? "yes" : "no", (long long)hub.latest_ns / 1000);
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        if (hub.uhid < 0 || !hub.options.layout.present[sensor]) continue;
        const struct sensor_state *state = &hub.sensors[sensor];
        fprintf(out, "sensor name=%s power=%s interval=%u reporting=%s sensitivity=%u sent=%llu clipped=%llu\n",
                sensor_kinds[sensor].name, power_names[state->features.power], state->features.interval_ms,
                reporting_names[state->features.reporting], state->features.sensitivity,
                (unsigned long long)state->sent, (unsigned long long)state->clipped);
    }
    unlock();
}
