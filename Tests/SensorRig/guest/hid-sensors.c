// The guest's program of the rig: an emulated HID sensor hub and the text protocol for commands of the host.
// The protocol is described in ../README.md.

#include "command.h"
#include "hub.h"
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

struct connection {
    FILE *in, *out;
};

// Reads CSV up to a line ".", so that the connection remains in sync after an invalid line.
static const char *load(struct connection *c, char *answer, size_t size) {
    struct recording recording = {0};
    const char *problem = NULL;
    char *line = NULL;
    size_t capacity = 0;
    bool ended = false;
    for (ssize_t length; !ended && (length = getline(&line, &capacity, c->in)) > 0;) {
        if (line[length - 1] == '\n') line[length - 1] = '\0';
        ended = strcmp(line, ".") == 0 || strcmp(line, ".\r") == 0;
        if (!ended && !problem) {
            problem = recording_add_line(&recording, line);
            if (problem) snprintf(answer, size, "line %zu: %s", recording.line, problem);
        }
    }
    free(line);
    if (!problem && (!ended || recording.count == 0)) {
        problem = "";
        snprintf(answer, size, "%s", ended ? "no rows" : "no line \".\" at the end");
    }
    size_t rows = recording.count;
    if (!problem) {
        problem = hub_load(&recording);
        if (problem) snprintf(answer, size, "%s", problem);
    }
    recording_free(&recording);
    if (!problem) snprintf(answer, size, "ok %zu rows", rows);
    return problem;
}

// put PATH MODE SIZE, then SIZE bytes.
static const char *put(struct connection *c, char *arguments) {
    char path[256];
    unsigned mode;
    long long size;
    if (sscanf(arguments, "%255s %o %lld", path, &mode, &size) != 3 || size < 0) return "usage: put PATH MODE SIZE";
    char temporary[sizeof path + 8];
    snprintf(temporary, sizeof temporary, "%s.part", path);
    FILE *file = fopen(temporary, "w");
    bool written = file != NULL;
    static const size_t CHUNK = 65536;
    char *chunk = malloc(CHUNK);
    while (chunk && size > 0) {
        size_t wanted = size < (long long)CHUNK ? (size_t)size : CHUNK;
        size_t got = fread(chunk, 1, wanted, c->in);
        if (got == 0) break;
        if (file && fwrite(chunk, 1, got, file) != got) written = false;
        size -= (long long)got;
    }
    free(chunk);
    if (file && fclose(file) != 0) written = false;
    if (size > 0) return "the connection ended within the file";
    if (!written || chmod(temporary, mode) != 0 || rename(temporary, path) != 0) return "cannot write the file";
    return NULL;
}

static const char *create(char *arguments) {
    static const struct { const char *name; int clock; } clocks[] = {
        {"realtime", CLOCK_REALTIME}, {"monotonic", CLOCK_MONOTONIC}, {"boottime", CLOCK_BOOTTIME}};
    struct hub_options options = hub_default_options();
    for (char *word; (word = strsep(&arguments, " ")) != NULL;) {
        if (*word == '\0') continue;
        char *value = strchr(word, '=');
        if (!value) return "usage: create [bits=16|32] [timestamp=CLOCK] [sensors=NAME,...]";
        *value++ = '\0';
        if (strcmp(word, "bits") == 0 && (strcmp(value, "16") == 0 || strcmp(value, "32") == 0)) {
            options.layout.bits = atoi(value);
        } else if (strcmp(word, "timestamp") == 0) {
            options.clock = CLOCK_FIXED;
            options.layout.timestamp = true;
            options.fixed_clock = -1;
            if (strcmp(value, "device") == 0) options.clock = CLOCK_OF_DEVICE;
            if (strcmp(value, "kernel") == 0) options.layout.timestamp = false;
            for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
                if (strcmp(value, clocks[i].name) == 0) options.fixed_clock = clocks[i].clock;
            if (options.clock == CLOCK_FIXED && options.layout.timestamp && options.fixed_clock < 0)
                return "timestamp is device, kernel, realtime, monotonic or boottime";
        } else if (strcmp(word, "sensors") == 0) {
            memset(options.layout.present, 0, sizeof options.layout.present);
            for (char *name; (name = strsep(&value, ",")) != NULL;) {
                int sensor = 0;
                while (sensor < SENSOR_COUNT && strcmp(name, sensor_kinds[sensor].name) != 0) sensor++;
                if (sensor == SENSOR_COUNT) return "sensors are accel, gyro, magn and pressure";
                options.layout.present[sensor] = true;
            }
        } else {
            return "options are bits=16|32, timestamp=CLOCK and sensors=NAME,...";
        }
    }
    return hub_create(&options);
}

static const char *idle(char *arguments) {
    for (char *word; (word = strsep(&arguments, " ")) != NULL;) {
        if (*word == '\0') continue;
        if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0) {
            hub_idle(word[1] == 'n');
            continue;
        }
        char *text = strchr(word, '='), *end = NULL;
        if (!text) return "usage: idle [on|off] [COLUMN=VALUE ...]";
        *text++ = '\0';
        double value = strtod(text, &end);
        int column = 0;
        while (column < COLUMN_COUNT && strcmp(word, column_names[column]) != 0) column++;
        if (column == COLUMN_COUNT) return "no such column";
        if (end == text || *end != '\0' || !isfinite(value)) return "not a number";
        hub_set_idle_value(column, value);
    }
    return NULL;
}

static const char *play(const char *arguments) {
    double delay = 0, at = 0;
    if (sscanf(arguments, "at=%lf", &at) == 1) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        delay = at - (double)now.tv_sec - 1e-9 * (double)now.tv_nsec;
        if (delay < 0) return "that time is over";
    } else if (*arguments != '\0' && sscanf(arguments, "delay=%lf", &delay) != 1) {
        delay = -1;
    }
    if (!(delay >= 0 && delay < 3600)) return "usage: play [delay=SECONDS|at=UTC_SECONDS]";
    return hub_play(llrint(delay * 1e9));
}

static const char *set_time(const char *arguments) {
    long long ns = atoll(arguments);
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    if (ns <= 0 || clock_settime(CLOCK_REALTIME, &time) != 0) return "cannot set the clock";
    // Marks the clock as synchronized, as a time daemon does, since the host sets it.
    struct timex state = {.modes = ADJ_STATUS | ADJ_MAXERROR | ADJ_ESTERROR, .maxerror = 10000, .esterror = 10000};
    if (adjtimex(&state) < 0) return "cannot mark the clock as set";
    hub_clocks_changed();
    return NULL;
}

static bool is_open(FILE *in) {
    struct pollfd file = {.fd = fileno(in), .events = POLLIN};
    char byte;
    return poll(&file, 1, 0) == 0 || recv(fileno(in), &byte, 1, MSG_PEEK) > 0;
}

static void print_log(struct connection *c, bool follow) {
    char line[256];
    size_t index = 0;
    for (;;) {
        size_t next = log_read(index, line, sizeof line);
        if (next != index) {
            fprintf(c->out, "%s\n", line);
            index = next;
        } else if (follow) {
            if (fflush(c->out) != 0 || !is_open(c->in)) return;
            log_wait(index);
        } else {
            return;
        }
    }
}

static void obey(struct connection *c, char *line) {
    char *arguments = strchr(line, ' ');
    if (arguments) {
        *arguments++ = '\0';
    } else {
        arguments = line + strlen(line);
    }
    char answer[160] = "ok";
    const char *problem = NULL;
    if (strcmp(line, "status") == 0) hub_print_status(c->out);
    else if (strcmp(line, "log") == 0) print_log(c, strcmp(arguments, "follow") == 0);
    else if (strcmp(line, "load") == 0) problem = load(c, answer, sizeof answer) ? answer : NULL;
    else if (strcmp(line, "play") == 0) problem = play(arguments);
    else if (strcmp(line, "stop") == 0) problem = hub_stop();
    else if (strcmp(line, "pause") == 0) problem = hub_pause(true);
    else if (strcmp(line, "resume") == 0) problem = hub_pause(false);
    else if (strcmp(line, "mute") == 0) hub_mute(true);
    else if (strcmp(line, "unmute") == 0) hub_mute(false);
    else if (strcmp(line, "idle") == 0) problem = idle(arguments);
    else if (strcmp(line, "create") == 0) problem = create(arguments);
    else if (strcmp(line, "remove") == 0) problem = hub_remove();
    else if (strcmp(line, "settime") == 0) problem = set_time(arguments);
    else if (strcmp(line, "put") == 0) problem = put(c, arguments);
    else if (strcmp(line, "exec") == 0) {
        run_command(arguments, c->in, c->out);
        return;
    } else problem = "no such command";
    if (problem) {
        fprintf(c->out, "error %s\n", problem);
    } else {
        fprintf(c->out, "%s\n", answer);
    }
}

static void *serve(void *argument) {
    int fd = (int)(intptr_t)argument;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct connection c = {fdopen(fd, "r"), fdopen(dup(fd), "w")};
    char *line = NULL;
    size_t capacity = 0;
    while (c.in && c.out && getline(&line, &capacity, c.in) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        obey(&c, line);
        if (fflush(c.out) != 0) break;
    }
    free(line);
    if (c.in) fclose(c.in);
    if (c.out) fclose(c.out);
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: hid-sensors PORT [CREATE-OPTION ...]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    hub_start();
    char options[256] = "";
    for (int i = 2; i < count; i++)
        snprintf(options + strlen(options), sizeof options - strlen(options), "%s ", arguments[i]);
    const char *problem = create(options);
    if (problem) {
        fprintf(stderr, "hid-sensors: %s\n", problem);
        return 1;
    }
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0) {
        perror("hid-sensors: cannot listen");
        return 1;
    }
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) continue;
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0) {
            pthread_detach(thread);
        } else {
            close(fd);
        }
    }
}
