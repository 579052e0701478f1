// A sensor recording in CSV: the header names the columns, in any order. An empty cell is an absent value.
#pragma once

#include "sensors.h"

struct row {
    int64_t t_ns;               // since the start of the recording's time
    double value[COLUMN_COUNT]; // NaN where absent
};

struct recording {
    struct row *rows;
    size_t count, capacity;
    int column_of_cell[64]; // -1: not used here
    int cells;              // 0 before the header
    int time_cell;
    size_t line;
};

// Parses the next line of the text. Returns NULL or an error (static text).
const char *recording_add_line(struct recording *recording, char *line);
void recording_free(struct recording *recording);
// True if the row has all axes of the sensor.
bool row_has(const struct row *row, enum sensor sensor);
