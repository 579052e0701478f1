// Simulates an engine control unit with OBD-II (SAE J1979, ISO 15765-4) on a CAN bus: answers requests to 7DF and 7E0
// with 7E8. The kernel's ISO-TP splits long answers into frames. Prints a line for each request.
//   can-obd INTERFACE FILE [at=UTC_SECONDS]
// FILE is CSV, `t,speed,rpm,voltage,fuel` (s, km/h, 1/min, V, %), without a header. A row applies until the next one.
// An empty rpm means that the ignition is off: the unit sleeps and does not answer. Any other empty cell is an
// unsupported quantity. t counts from `at`, or from the start. SIGHUP reads FILE again.

#include <errno.h>
#include <linux/can.h>
#include <linux/can/isotp.h>
#include <linux/can/raw.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FUNCTIONAL = 0x7DF, PHYSICAL = 0x7E0, ANSWER = 0x7E8 };
enum { CURRENT_DATA = 0x01, VEHICLE_INFORMATION = 0x09, NEGATIVE = 0x7F, NOT_SUPPORTED = 0x12 };
enum { SPEED, RPM, VOLTAGE, FUEL, QUANTITIES };

static const char identification[] = "WVWZZZ1KZAW000001";

struct row {
    double time, value[QUANTITIES]; // NaN where absent
};

static struct row *rows;
static size_t row_count;
static double begin;
static volatile sig_atomic_t wants_reload;

static void on_hangup(int number) {
    (void)number;
    wants_reload = 1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Parses a number; empty text is NaN. Returns false for invalid text.
static bool parse(const char *text, double *value) {
    *value = NAN;
    if (*text == '\0') return true;
    char *end;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

static bool load(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "can-obd: %s: %s\n", path, strerror(errno));
        return false;
    }
    struct row *read = NULL;
    size_t count = 0, number = 0;
    bool sound = true;
    char line[256];
    while (sound && fgets(line, sizeof line, file)) {
        number++;
        line[strcspn(line, "\r\n")] = '\0';
        char *rest = line, *cell = strsep(&rest, ",");
        struct row row;
        sound = parse(cell, &row.time) && isfinite(row.time) && (count == 0 || row.time >= read[count - 1].time);
        for (int i = 0; i < QUANTITIES; i++) {
            cell = rest ? strsep(&rest, ",") : "";
            sound = sound && parse(cell, &row.value[i]);
        }
        sound = sound && !rest;
        struct row *longer = sound ? realloc(read, (count + 1) * sizeof *read) : NULL;
        sound = longer != NULL;
        if (sound) {
            read = longer;
            read[count++] = row;
        }
    }
    fclose(file);
    if (!sound || count == 0) {
        fprintf(stderr, "can-obd: %s, line %zu: not t,speed,rpm,voltage,fuel in order of time\n", path, number);
        free(read);
        return false;
    }
    free(rows);
    rows = read;
    row_count = count;
    return true;
}

// Returns the row for the current time; the first one before its time.
static const struct row *current(void) {
    double time = now() - begin;
    size_t index = 0;
    while (index + 1 < row_count && rows[index + 1].time <= time) index++;
    return &rows[index];
}

// Encodes a value by SAE J1979. Returns its number of bytes; 0 for an unsupported parameter.
static int encode(int parameter, const struct row *row, uint8_t *out) {
    static const struct { int parameter, quantity, bytes; double factor; } known[] = {
        {0x0C, RPM, 2, 4}, {0x0D, SPEED, 1, 1}, {0x2F, FUEL, 1, 255.0 / 100}, {0x42, VOLTAGE, 2, 1000}};
    if (parameter % 0x20 == 0 && parameter <= 0x40) {
        uint32_t bits = 0;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            int place = known[i].parameter - parameter;
            if (place > 0 && place <= 0x20 && !isnan(row->value[known[i].quantity])) bits |= 1u << (0x20 - place);
            if (place > 0x20) bits |= 1; // more in the next list
        }
        for (int i = 0; i < 4; i++) out[i] = (uint8_t)(bits >> (24 - 8 * i));
        return 4;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double value = row->value[known[i].quantity];
        if (known[i].parameter != parameter || isnan(value)) continue;
        double largest = known[i].bytes == 1 ? UINT8_MAX : UINT16_MAX;
        unsigned raw = (unsigned)fmin(fmax(rint(value * known[i].factor), 0), largest);
        for (int j = 0; j < known[i].bytes; j++) out[j] = (uint8_t)(raw >> (8 * (known[i].bytes - 1 - j)));
        return known[i].bytes;
    }
    return 0;
}

// Returns the length of the answer; 0 without an answer.
static size_t answer(const uint8_t *request, size_t length, bool functional, uint8_t *out) {
    const struct row *row = current();
    if (length == 0 || isnan(row->value[RPM])) return 0;
    size_t size = 0;
    out[size++] = (uint8_t)(request[0] + 0x40);
    if (request[0] == CURRENT_DATA) {
        for (size_t i = 1; i < length && i <= 6; i++) {
            int bytes = encode(request[i], row, out + size + 1);
            if (bytes > 0) out[size] = request[i];
            size += bytes > 0 ? (size_t)bytes + 1 : 0;
        }
    } else if (request[0] == VEHICLE_INFORMATION && length == 2 && request[1] == 0x00) {
        memcpy(out + size, "\x00\x40\x00\x00\x00", 5);
        size += 5;
    } else if (request[0] == VEHICLE_INFORMATION && length == 2 && request[1] == 0x02) {
        out[size++] = 0x02;
        out[size++] = 1; // one item
        memcpy(out + size, identification, sizeof identification - 1);
        size += sizeof identification - 1;
    }
    if (size > 1) return size;
    // Units do not answer a functional request for unsupported parameters.
    if (functional) return 0;
    out[0] = NEGATIVE;
    out[1] = request[0];
    out[2] = NOT_SUPPORTED;
    return 3;
}

static int open_socket(int type, int protocol, struct sockaddr_can *address) {
    int fd = socket(PF_CAN, type | SOCK_CLOEXEC, protocol);
    if (protocol == CAN_RAW && fd >= 0) {
        struct can_filter filter = {.can_id = FUNCTIONAL, .can_mask = CAN_SFF_MASK | CAN_EFF_FLAG | CAN_RTR_FLAG};
        setsockopt(fd, SOL_CAN_RAW, CAN_RAW_FILTER, &filter, sizeof filter);
    }
    if (protocol == CAN_ISOTP && fd >= 0) {
        struct can_isotp_options options = {.flags = CAN_ISOTP_TX_PADDING, .txpad_content = 0xCC};
        setsockopt(fd, SOL_CAN_ISOTP, CAN_ISOTP_OPTS, &options, sizeof options);
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0) {
        perror("can-obd: cannot open the bus");
        exit(1);
    }
    return fd;
}

static void print(const char *kind, const uint8_t *bytes, size_t length) {
    printf("%.6f %s", now(), kind);
    for (size_t i = 0; i < length; i++) printf(" %02X", bytes[i]);
    printf("\n");
    fflush(stdout);
}

int main(int count, char **arguments) {
    if (count < 3 || count > 4 || (count == 4 && sscanf(arguments[3], "at=%lf", &begin) != 1)) {
        fprintf(stderr, "usage: can-obd INTERFACE FILE [at=UTC_SECONDS]\n");
        return 2;
    }
    if (count == 3) begin = now();
    if (!load(arguments[2])) return 1;
    unsigned index = if_nametoindex(arguments[1]);
    if (index == 0) {
        fprintf(stderr, "can-obd: no interface %s\n", arguments[1]);
        return 1;
    }
    struct sigaction action = {.sa_handler = on_hangup};
    sigaction(SIGHUP, &action, NULL);
    struct sockaddr_can bus = {.can_family = AF_CAN, .can_ifindex = (int)index};
    struct sockaddr_can unit = bus;
    unit.can_addr.tp.rx_id = PHYSICAL;
    unit.can_addr.tp.tx_id = ANSWER;
    struct pollfd files[2] = {{.fd = open_socket(SOCK_RAW, CAN_RAW, &bus), .events = POLLIN},
                              {.fd = open_socket(SOCK_DGRAM, CAN_ISOTP, &unit), .events = POLLIN}};
    for (;;) {
        if (wants_reload) {
            wants_reload = 0;
            if (load(arguments[2]) && count == 3) begin = now();
        }
        if (poll(files, 2, -1) < 0) continue;
        for (int i = 0; i < 2; i++) {
            if (!files[i].revents) continue;
            uint8_t request[64], reply[64];
            size_t length = 0;
            if (i == 0) {
                struct can_frame frame;
                if (read(files[0].fd, &frame, sizeof frame) != sizeof frame) continue;
                // A single frame starts with its length. There are no longer functional requests.
                if (frame.can_dlc < 2 || frame.data[0] == 0 || frame.data[0] >= frame.can_dlc) continue;
                length = frame.data[0];
                memcpy(request, frame.data + 1, length);
            } else {
                ssize_t got = read(files[1].fd, request, sizeof request);
                if (got <= 0) continue;
                length = (size_t)got;
            }
            size_t size = answer(request, length, i == 0, reply);
            print(i == 0 ? "7DF" : "7E0", request, length);
            if (size > 0 && write(files[1].fd, reply, size) < 0) perror("can-obd: cannot answer");
        }
    }
}
