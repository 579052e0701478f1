// Sensors of the emulated hub and their HID descriptors.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sensor { ACCEL, GYRO, MAGN, PRESSURE, SENSOR_COUNT };

// Columns of a recording, in the order of the sensors.
enum { COLUMN_COUNT = 10 };
extern const char *const column_names[COLUMN_COUNT];

struct sensor_kind {
    const char *name;     // name in the protocol and the log
    const char *iio_name; // name of the device in the kernel's driver
    uint8_t usage;        // HID usage of the sensor, page 0x20
    uint16_t field;       // HID usage of its first axis
    int axes;
    int column;           // first column in a recording
    uint32_t unit;        // HID unit in the kernel's unit table
    double per_column;    // HID units in one unit of the recording's column
    int exponent16;       // decimal exponent of the raw value, 16-bit fields
    int exponent32;       // and 32-bit fields
};
extern const struct sensor_kind sensor_kinds[SENSOR_COUNT];

// Configuration of the hub, constant while the device exists.
struct hub_layout {
    int bits;       // of an axis: 16 or 32
    bool timestamp; // input reports carry a timestamp of the hardware, in ns
    bool present[SENSOR_COUNT];
};

// Feature report of a sensor. States are one-based indices of the descriptor's usages.
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

// The report ID of a sensor is its number plus one, since ID 0 means "no IDs" in HID.
static inline uint8_t report_id(enum sensor sensor) { return (uint8_t)(sensor + 1); }

// Writes the report descriptor and returns its length. `size` must be at least 1024.
size_t make_descriptor(const struct hub_layout *layout, uint8_t *out, size_t size);

// Reports start with their ID, as on the wire. These functions return the length.
size_t pack_features(enum sensor sensor, const struct features *features, uint8_t *out);
bool unpack_features(const uint8_t *data, size_t size, struct features *features);
size_t pack_input(const struct hub_layout *layout, enum sensor sensor, const int32_t *raw, int64_t timestamp_ns,
                  uint8_t *out);

// Converts a column's value to a raw value. Sets *clipped if it exceeds the field.
int32_t quantise(const struct hub_layout *layout, enum sensor sensor, double value, bool *clipped);
