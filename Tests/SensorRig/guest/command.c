#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct stream {
    int fd;
    char tag;
    char text[4096];
    size_t length;
};

static void send_lines(struct stream *stream, FILE *out, bool finish) {
    char *start = stream->text;
    size_t left = stream->length;
    for (char *end; (end = memchr(start, '\n', left)) != NULL;) {
        fprintf(out, "%c %.*s\n", stream->tag, (int)(end - start), start);
        left -= (size_t)(end + 1 - start);
        start = end + 1;
    }
    // A line longer than the buffer is split. An incomplete last line is terminated.
    if (left == sizeof stream->text || (finish && left > 0)) {
        fprintf(out, "%c %.*s\n", stream->tag, (int)left, start);
        left = 0;
    }
    memmove(stream->text, start, left);
    stream->length = left;
    fflush(out);
}

static void read_stream(struct stream *stream, FILE *out) {
    ssize_t size = read(stream->fd, stream->text + stream->length, sizeof stream->text - stream->length);
    if (size < 0 && errno == EINTR) return;
    if (size > 0) stream->length += (size_t)size;
    send_lines(stream, out, size <= 0);
    if (size <= 0) {
        close(stream->fd);
        stream->fd = -1;
    }
}

static int signal_number(const char *name) {
    static const struct { const char *name; int number; } signals[] = {
        {"TERM", SIGTERM}, {"INT", SIGINT}, {"KILL", SIGKILL}, {"HUP", SIGHUP}, {"STOP", SIGSTOP}, {"CONT", SIGCONT}};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (strcmp(name, signals[i].name) == 0) return signals[i].number;
    return 0;
}

// Returns false if the connection is closed.
static bool read_request(pid_t group, FILE *in) {
    char line[64];
    if (!fgets(line, sizeof line, in)) return false;
    line[strcspn(line, "\r\n")] = '\0';
    if (strncmp(line, "signal ", 7) == 0 && signal_number(line + 7) != 0) kill(-group, signal_number(line + 7));
    return true;
}

static pid_t start(const char *command, struct stream streams[2]) {
    int output[2], errors[2];
    if (pipe2(output, O_CLOEXEC) != 0) return -1;
    if (pipe2(errors, O_CLOEXEC) != 0) {
        close(output[0]);
        close(output[1]);
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        dup2(errors[1], STDERR_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (child > 0) setpgid(child, child); // also here, so that a signal cannot come too early
    close(output[1]);
    close(errors[1]);
    streams[0] = (struct stream){.fd = output[0], .tag = '1'};
    streams[1] = (struct stream){.fd = errors[0], .tag = '2'};
    return child;
}

void run_command(const char *command, FILE *in, FILE *out) {
    struct stream *streams = calloc(2, sizeof *streams);
    pid_t child = streams ? start(command, streams) : -1;
    if (child < 0) {
        fprintf(out, "error cannot start the command: %s\n", strerror(errno));
        free(streams);
        return;
    }
    bool connected = true;
    int status = 0;
    // Background processes may hold the pipes open: the command ends with its shell.
    for (bool ended = false; !ended || streams[0].fd >= 0 || streams[1].fd >= 0;) {
        struct pollfd files[3] = {{.fd = streams[0].fd, .events = POLLIN},
                                  {.fd = streams[1].fd, .events = POLLIN},
                                  {.fd = connected ? fileno(in) : -1, .events = POLLIN}};
        int ready = poll(files, 3, ended ? 0 : 50);
        if (files[0].revents) read_stream(&streams[0], out);
        if (files[1].revents) read_stream(&streams[1], out);
        if (files[2].revents && !read_request(child, in)) {
            connected = false;
            kill(-child, SIGKILL);
        }
        if (ended && ready <= 0) break;
        if (!ended) ended = waitpid(child, &status, WNOHANG) == child;
    }
    for (int i = 0; i < 2; i++) {
        if (streams[i].fd < 0) continue;
        send_lines(&streams[i], out, true);
        close(streams[i].fd);
    }
    free(streams);
    fprintf(out, "exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
