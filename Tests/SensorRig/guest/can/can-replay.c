// Sends the frames of a candump log with their original timing.
//   can-replay FILE [at=UTC_SECONDS] [as=INTERFACE] [loop]
// Lines are `(SECONDS) INTERFACE ID#DATA`, as written by `candump -L`: three hexadecimal digits of the identifier for
// a standard frame, eight for an extended one, up to eight bytes; `ID#R` is a remote frame. The first frame is sent
// at `at`, or immediately.

#include <ctype.h>
#include <errno.h>
#include <linux/can.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct line {
    double time;
    unsigned interface;
    struct can_frame frame;
};

static int digit(char c) { return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? toupper(c) - 'A' + 10 : -1; }

// Parses ID#DATA or ID#R.
static bool parse_frame(const char *text, struct can_frame *frame) {
    memset(frame, 0, sizeof *frame);
    const char *mark = strchr(text, '#');
    long digits = mark ? mark - text : 0;
    if (digits != 3 && digits != 8) return false;
    char *end;
    frame->can_id = (canid_t)strtoul(text, &end, 16);
    if (end != mark || frame->can_id > (digits == 3 ? CAN_SFF_MASK : CAN_EFF_MASK)) return false;
    if (digits == 8) frame->can_id |= CAN_EFF_FLAG;
    const char *data = mark + 1;
    if (strcmp(data, "R") == 0) {
        frame->can_id |= CAN_RTR_FLAG;
        return true;
    }
    for (; *data; data += 2) {
        if (digit(data[0]) < 0 || digit(data[1]) < 0 || frame->can_dlc == CAN_MAX_DLEN) return false;
        frame->data[frame->can_dlc++] = (uint8_t)(digit(data[0]) * 16 + digit(data[1]));
    }
    return true;
}

static struct line *load(const char *path, const char *interface, size_t *count) {
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "can-replay: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    struct line *lines = NULL;
    size_t capacity = 0;
    char text[256], name[64], frame[128];
    for (*count = 0; fgets(text, sizeof text, file); ++*count) {
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            lines = realloc(lines, capacity * sizeof *lines);
            if (!lines) exit(1);
        }
        struct line *line = &lines[*count];
        if (sscanf(text, "(%lf) %63s %127s", &line->time, name, frame) != 3 || !parse_frame(frame, &line->frame) ||
            (*count > 0 && line->time < lines[*count - 1].time)) {
            fprintf(stderr, "can-replay: %s, line %zu: not (SECONDS) INTERFACE ID#DATA in order of time\n", path, *count + 1);
            exit(1);
        }
        line->interface = if_nametoindex(interface ? interface : name);
        if (line->interface == 0) {
            fprintf(stderr, "can-replay: no interface %s\n", interface ? interface : name);
            exit(1);
        }
    }
    fclose(file);
    return lines;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argument_count, char **arguments) {
    double at = 0;
    const char *interface = NULL;
    bool repeats = false, sound = argument_count >= 2;
    for (int i = 2; i < argument_count; i++) {
        if (sscanf(arguments[i], "at=%lf", &at) == 1) continue;
        if (strncmp(arguments[i], "as=", 3) == 0) interface = arguments[i] + 3;
        else if (strcmp(arguments[i], "loop") == 0) repeats = true;
        else sound = false;
    }
    if (!sound) {
        fprintf(stderr, "usage: can-replay FILE [at=UTC_SECONDS] [as=INTERFACE] [loop]\n");
        return 2;
    }
    size_t count;
    struct line *lines = load(arguments[1], interface, &count);
    int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);
    if (fd < 0) {
        perror("can-replay: cannot open a socket");
        return 1;
    }
    // Receives no frames.
    setsockopt(fd, SOL_CAN_RAW, CAN_RAW_FILTER, NULL, 0);
    double start = at > 0 ? at : now(), period = count > 0 ? lines[count - 1].time - lines[0].time : 0;
    size_t sent = 0;
    do {
        for (size_t i = 0; i < count; i++) {
            double wait = start + lines[i].time - lines[0].time - now();
            if (wait > 0) usleep((useconds_t)(wait * 1e6));
            struct sockaddr_can address = {.can_family = AF_CAN, .can_ifindex = (int)lines[i].interface};
            while (sendto(fd, &lines[i].frame, sizeof lines[i].frame, 0, (struct sockaddr *)&address, sizeof address) < 0) {
                if (errno != ENOBUFS && errno != EINTR) {
                    perror("can-replay: cannot send");
                    return 1;
                }
                usleep(1000);
            }
            sent++;
        }
        start += period;
    } while (repeats && period > 0);
    printf("%zu frames\n", sent);
    free(lines);
    return 0;
}
