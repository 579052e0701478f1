#include "recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNUSED_CELL = -1, TIME_CELL = -2 };

static const char *add_header(struct recording *recording, char *line) {
    recording->time_cell = -1;
    char *rest = line;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        if (recording->cells == (int)(sizeof recording->column_of_cell / sizeof(int))) return "too many columns";
        int column = UNUSED_CELL;
        if (strcmp(name, "t") == 0) {
            column = TIME_CELL;
            recording->time_cell = recording->cells;
        }
        for (int i = 0; i < COLUMN_COUNT; i++)
            if (strcmp(name, column_names[i]) == 0) column = i;
        // A recording may contain a temperature, but this hub has no thermometer.
        if (column == UNUSED_CELL && strcmp(name, "temperature") != 0) return "unknown column";
        recording->column_of_cell[recording->cells++] = column;
    }
    return recording->time_cell < 0 ? "no column t" : NULL;
}

const char *recording_add_line(struct recording *recording, char *line) {
    recording->line++;
    line[strcspn(line, "\r")] = '\0';
    if (recording->cells == 0) return add_header(recording, line);
    if (*line == '\0') return NULL;
    if (recording->count == recording->capacity) {
        size_t capacity = recording->capacity ? 2 * recording->capacity : 1024;
        struct row *rows = realloc(recording->rows, capacity * sizeof *rows);
        if (!rows) return "out of memory";
        recording->rows = rows;
        recording->capacity = capacity;
    }
    struct row *row = &recording->rows[recording->count];
    for (int i = 0; i < COLUMN_COUNT; i++) row->value[i] = NAN;
    char *rest = line;
    int cell = 0;
    for (char *text; (text = strsep(&rest, ",")) != NULL; cell++) {
        if (cell == recording->cells) return "more cells than columns";
        char *end;
        double value = strtod(text, &end);
        if (*end != '\0') return "not a number";
        bool empty = end == text;
        if (!empty && !isfinite(value)) return "not finite";
        int column = recording->column_of_cell[cell];
        if (column == TIME_CELL) {
            if (empty || fabs(value) > 1e9) return "no usable time";
            row->t_ns = llrint(value * 1e9);
        } else if (column >= 0 && !empty) {
            row->value[column] = value;
        }
    }
    if (cell != recording->cells) return "fewer cells than columns";
    if (recording->count > 0 && row->t_ns < row[-1].t_ns) return "time goes backwards";
    recording->count++;
    return NULL;
}

void recording_free(struct recording *recording) {
    free(recording->rows);
    memset(recording, 0, sizeof *recording);
}

bool row_has(const struct row *row, enum sensor sensor) {
    for (int axis = 0; axis < sensor_kinds[sensor].axes; axis++)
        if (isnan(row->value[sensor_kinds[sensor].column + axis])) return false;
    return true;
}
