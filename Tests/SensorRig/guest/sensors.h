// What the emulated sensor hub consists of, and how it describes itself in HID terms.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sensor { ACCEL, GYRO, MAGN, PRESSURE, SENSOR_COUNT };

// The columns of a recording, in the order in which the sensors use them.
enum { COLUMN_COUNT = 10 };
extern const char *const column_names[COLUMN_COUNT];

struct sensor_kind {
    const char *name;     // in the protocol and the log
    const char *iio_name; // what the kernel's driver calls the device
    uint8_t usage;        // HID usage of the sensor, page 0x20
    uint16_t field;       // HID usage of its first axis
    int axes;
    int column;           // its first column in a recording
    uint32_t unit;        // HID unit, as the kernel's unit table knows it
    double per_column;    // HID units in one unit of the recording's column
    int exponent16;       // decimal exponent of the raw value, 16-bit fields
    int exponent32;       // and 32-bit fields
};
extern const struct sensor_kind sensor_kinds[SENSOR_COUNT];

// The shape of the hub, fixed while the device exists.
struct hub_layout {
    int bits;       // of an axis: 16 or 32
    bool timestamp; // input reports carry a timestamp of the hardware, in ns
    bool present[SENSOR_COUNT];
};

// The feature report of one sensor. States are the one-based index into the usages of the descriptor.
struct features {
    uint8_t reporting;
    uint8_t power;
    uint32_t interval_ms;
    uint16_t sensitivity;
};
enum { REPORTING_NONE = 1, REPORTING_ALL = 2, STATE_COUNT = 6 };
enum { POWER_FULL = 2, POWER_OFF = 6 };
extern const char *const reporting_names[STATE_COUNT + 1];
extern const char *const power_names[STATE_COUNT + 1];

// A sensor's report id is its number plus one: id 0 means "no ids" in HID.
static inline uint8_t report_id(enum sensor sensor) { return (uint8_t)(sensor + 1); }

// Writes the report descriptor and returns its length; `size` must be at least 1024.
size_t make_descriptor(const struct hub_layout *layout, uint8_t *out, size_t size);

// Reports start with their id, as on the wire. Return the length.
size_t pack_features(enum sensor sensor, const struct features *features, uint8_t *out);
bool unpack_features(const uint8_t *data, size_t size, struct features *features);
size_t pack_input(const struct hub_layout *layout, enum sensor sensor, const int32_t *raw, int64_t timestamp_ns,
                  uint8_t *out);

// The raw value of a column's value; sets *clipped when the field cannot hold it.
int32_t quantise(const struct hub_layout *layout, enum sensor sensor, double value, bool *clipped);
