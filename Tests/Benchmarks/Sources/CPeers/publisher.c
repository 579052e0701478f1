#include "peers.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct progress {
  bool connected;
  int acknowledged;
};

// A message to send.
struct message {
  char topic[64];
  char payload[65536];
  int size;
};

static void on_connect(struct mosquitto *client, void *context, int reason, int flags, const mosquitto_property *p) {
  (void)client, (void)flags, (void)p;
  ((struct progress *)context)->connected = reason == 0;
}

static void on_publish(struct mosquitto *client, void *context, int id, int reason, const mosquitto_property *p) {
  (void)client, (void)id, (void)reason, (void)p;
  ((struct progress *)context)->acknowledged++;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Publishes `count` messages; `compose` fills in the message for each number. If it is null, the message is constant.
static double publish(const char *host, int port, int version, const char *client_id, int qos, int window, int first, int count,
                      struct message *message, void (*compose)(struct message *, int)) {
  struct progress progress = {false, 0};
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new(client_id, true, &progress);
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, version);
  mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, 65535);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_connect_v5_callback_set(client, on_connect);
  mosquitto_publish_v5_callback_set(client, on_publish);
  int code = mosquitto_connect(client, host, port, 60);
  int sent = 0;
  double start = now();
  while (code == MOSQ_ERR_SUCCESS && progress.acknowledged < count) {
    struct pollfd entry = {mosquitto_socket(client), POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0), 0};
    poll(&entry, 1, 1000);
    if (entry.revents & POLLIN) code = mosquitto_loop_read(client, 1);
    if (code == MOSQ_ERR_SUCCESS && entry.revents & POLLOUT) code = mosquitto_loop_write(client, 1);
    while (code == MOSQ_ERR_SUCCESS && progress.connected && sent < count && sent - progress.acknowledged < window) {
      if (compose) compose(message, first + sent);
      if (sent == 0) start = now();
      code = mosquitto_publish_v5(client, NULL, message->topic, message->size, message->payload, qos, false, NULL);
      sent++;
    }
  }
  double seconds = now() - start;
  mosquitto_disconnect(client);
  mosquitto_loop_write(client, 1);
  mosquitto_destroy(client);
  return code == MOSQ_ERR_SUCCESS ? seconds : -(double)code;
}

double publish_minimal(const char *host, int port, int qos, int window, int count, int size) {
  static struct message message = {.topic = "benchmark/minimal"};
  memset(message.payload, 'x', sizeof message.payload);
  message.size = size;
  return publish(host, port, MQTT_PROTOCOL_V5, "minimal-publisher", qos, window, 0, count, &message, NULL);
}

// Moves back and forth within half a degree, in units of 1e-8 degrees.
static int swing(long distance) {
  long rest = distance % 100000000;
  return (int)(rest < 50000000 ? rest : 100000000 - rest);
}

// A hundred vehicles at 20 m/s, each with a report every ten seconds.
static void compose_location(struct message *message, int number) {
  long vehicle = number % 100, step = number / 100;
  snprintf(message->topic, sizeof message->topic, "odograph/v1/bench/van-%02d/location", number % 100);
  message->size = snprintf(message->payload, sizeof message->payload,
      "{\"time\":\"2026-11-%02dT%02d:%02d:%02d.%03dZ\",\"latitude\":48.%08d,\"longitude\":11.%08d,"
      "\"altitude\":520.25,\"horizontalAccuracy\":2.50,\"speed\":20.125,\"course\":271.25,"
      "\"epoch\":\"9f3a61c2d4e5\",\"seq\":%d}",
      1 + number / 864000 % 28, number / 36000 % 24, number / 600 % 60, number / 10 % 60, number % 10 * 100,
      swing(step * 160000 + vehicle * 7919000), swing(step * 110000 + vehicle * 3571000), number / 100);
}

double publish_fleet(const char *host, int port, int qos, int window, int first, int count) {
  static struct message message;
  return publish(host, port, MQTT_PROTOCOL_V5, "fleet-publisher", qos, window, first, count, &message, compose_location);
}

double publish_fleet_v311(const char *host, int port, int window, int first, int count) {
  static struct message message;
  return publish(host, port, MQTT_PROTOCOL_V311, "fleet-publisher", 1, window, first, count, &message,
                 compose_location);
}
