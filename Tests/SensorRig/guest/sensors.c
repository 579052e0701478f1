#include "sensors.h"

#include <math.h>
#include <string.h>

const char *const column_names[COLUMN_COUNT] = {"ax", "ay", "az", "gx", "gy", "gz", "mx", "my", "mz", "pressure"};

// Units for which the kernel's conversion factor is exactly one, so that the reported scale is a power of ten without
// the rounding to 1e-9 that degrees or g cause. Pressure in pascal is the exception, since IIO uses kPa.
const struct sensor_kind sensor_kinds[SENSOR_COUNT] = {
    [ACCEL] = {"accel", "accel_3d", 0x73, 0x0453, 3, 0, 0x11E0, 1.0, -3, -6},        // m/s²
    [GYRO] = {"gyro", "gyro_3d", 0x76, 0x0457, 3, 3, 0x12F0, 1.0, -3, -6},           // rad/s
    [MAGN] = {"magn", "magn_3d", 0x83, 0x0485, 3, 6, 0x01E1F000, 0.01, -4, -6},      // gauss, from µT
    [PRESSURE] = {"pressure", "press", 0x31, 0x0431, 1, 9, 0xF1E1, 1.0, 1, -3},      // Pa
};

const char *const reporting_names[STATE_COUNT + 1] = {"?",    "none",     "all",           "threshold",
                                                      "wake", "all-wake", "threshold-wake"};
const char *const power_names[STATE_COUNT + 1] = {"?", "undefined", "full", "low", "standby", "sleep", "off"};

// HID short items, by tag and type, without the size bits.
enum {
    USAGE_PAGE = 0x04, USAGE = 0x08, LOGICAL_MINIMUM = 0x14, LOGICAL_MAXIMUM = 0x24, UNIT_EXPONENT = 0x54, UNIT = 0x64,
    REPORT_SIZE = 0x74, REPORT_ID = 0x84, REPORT_COUNT = 0x94, INPUT = 0x80, FEATURE = 0xB0, COLLECTION = 0xA0,
    END_COLLECTION = 0xC0
};
enum { PHYSICAL = 0, APPLICATION = 1, LOGICAL = 2 };
enum { DATA_ARRAY = 0, DATA_VARIABLE = 2 };

struct descriptor {
    uint8_t *bytes;
    size_t length, size;
};

static void item(struct descriptor *d, uint8_t tag, int size, uint32_t value) {
    if (d->length + 1 + (size_t)size > d->size) return;
    d->bytes[d->length++] = (uint8_t)(tag | (size == 4 ? 3 : size));
    for (int i = 0; i < size; i++) d->bytes[d->length++] = (uint8_t)(value >> (8 * i));
}

static void field(struct descriptor *d, uint8_t kind, uint16_t usage, uint32_t minimum, uint32_t maximum, int bits,
                  int count) {
    item(d, USAGE, 2, usage);
    item(d, LOGICAL_MINIMUM, 4, minimum);
    item(d, LOGICAL_MAXIMUM, 4, maximum);
    item(d, REPORT_SIZE, 1, (uint32_t)bits);
    item(d, REPORT_COUNT, 1, (uint32_t)count);
    item(d, kind, 1, DATA_VARIABLE);
}

// A selector: the kernel finds the value of a state by the index of its usage in the collection.
static void state_field(struct descriptor *d, uint16_t usage, uint16_t first_selector) {
    item(d, USAGE, 2, usage);
    item(d, LOGICAL_MINIMUM, 1, 1);
    item(d, LOGICAL_MAXIMUM, 1, STATE_COUNT);
    item(d, REPORT_SIZE, 1, 8);
    item(d, REPORT_COUNT, 1, 1);
    item(d, COLLECTION, 1, LOGICAL);
    for (uint32_t i = 0; i < STATE_COUNT; i++) item(d, USAGE, 2, first_selector + i);
    item(d, FEATURE, 1, DATA_ARRAY);
    item(d, END_COLLECTION, 0, 0);
}

static int exponent(const struct hub_layout *layout, const struct sensor_kind *kind) {
    return layout->bits == 16 ? kind->exponent16 : kind->exponent32;
}

static void unit(struct descriptor *d, uint32_t unit, int exponent) {
    item(d, UNIT, 4, unit);
    item(d, UNIT_EXPONENT, 1, (uint32_t)exponent & 0x0F);
}

static void sensor_collection(struct descriptor *d, const struct hub_layout *layout, enum sensor sensor) {
    const struct sensor_kind *kind = &sensor_kinds[sensor];
    item(d, REPORT_ID, 1, report_id(sensor));
    item(d, USAGE, 1, kind->usage);
    item(d, COLLECTION, 1, PHYSICAL);
    state_field(d, 0x0316, 0x0840);
    state_field(d, 0x0319, 0x0850);
    unit(d, 0x19, 0); // milliseconds in the kernel's own table
    field(d, FEATURE, 0x030E, 0, INT32_MAX, 32, 1);
    unit(d, kind->unit, exponent(layout, kind));
    field(d, FEATURE, 0x030F, 0, UINT16_MAX, 16, 1);
    uint32_t minimum = layout->bits == 16 ? (uint32_t)INT16_MIN : (uint32_t)INT32_MIN;
    uint32_t maximum = layout->bits == 16 ? INT16_MAX : INT32_MAX;
    for (int axis = 0; axis < kind->axes; axis++)
        field(d, INPUT, (uint16_t)(kind->field + axis), minimum, maximum, layout->bits, 1);
    if (layout->timestamp) {
        // Milliseconds with exponent -6 are the nanoseconds that the driver requires. Eight bytes instead of one
        // field of 64 bits, since the HID core warns about fields wider than 32 bits.
        unit(d, 0x19, -6);
        field(d, INPUT, 0x0529, 0, UINT8_MAX, 8, 8);
    }
    unit(d, 0, 0);
    item(d, END_COLLECTION, 0, 0);
}

size_t make_descriptor(const struct hub_layout *layout, uint8_t *out, size_t size) {
    struct descriptor d = {out, 0, size};
    item(&d, USAGE_PAGE, 1, 0x20);
    item(&d, USAGE, 1, 0x01);
    item(&d, COLLECTION, 1, APPLICATION);
    for (int sensor = 0; sensor < SENSOR_COUNT; sensor++)
        if (layout->present[sensor]) sensor_collection(&d, layout, sensor);
    item(&d, END_COLLECTION, 0, 0);
    return d.length;
}

static uint8_t *put(uint8_t *out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *out++ = (uint8_t)(value >> (8 * i));
    return out;
}

size_t pack_features(enum sensor sensor, const struct features *features, uint8_t *out) {
    uint8_t *end = put(out, report_id(sensor), 1);
    end = put(end, features->reporting, 1);
    end = put(end, features->power, 1);
    end = put(end, features->interval_ms, 4);
    end = put(end, features->sensitivity, 2);
    return (size_t)(end - out);
}

bool unpack_features(const uint8_t *data, size_t size, struct features *features) {
    if (size < 9) return false;
    features->reporting = data[1];
    features->power = data[2];
    features->interval_ms = data[3] | data[4] << 8 | data[5] << 16 | (uint32_t)data[6] << 24;
    features->sensitivity = (uint16_t)(data[7] | data[8] << 8);
    return features->reporting <= STATE_COUNT && features->power <= STATE_COUNT;
}

size_t pack_input(const struct hub_layout *layout, enum sensor sensor, const int32_t *raw, int64_t timestamp_ns,
                  uint8_t *out) {
    uint8_t *end = put(out, report_id(sensor), 1);
    for (int axis = 0; axis < sensor_kinds[sensor].axes; axis++) end = put(end, (uint32_t)raw[axis], layout->bits / 8);
    if (layout->timestamp) end = put(end, (uint64_t)timestamp_ns, 8);
    return (size_t)(end - out);
}

int32_t quantise(const struct hub_layout *layout, enum sensor sensor, double value, bool *clipped) {
    const struct sensor_kind *kind = &sensor_kinds[sensor];
    double raw = rint(value * kind->per_column * pow(10.0, -exponent(layout, kind)));
    double limit = layout->bits == 16 ? INT16_MAX : INT32_MAX;
    if (raw > limit || raw < -limit) {
        *clipped = true;
        raw = raw < 0 ? -limit : limit;
    }
    return (int32_t)raw;
}
