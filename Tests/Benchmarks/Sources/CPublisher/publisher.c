#include "publisher.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

struct progress {
  bool connected;
  int acknowledged;
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

double publish_minimal(const char *host, int port, int qos, int window, int count, int size) {
  static char payload[65536];
  memset(payload, 'x', sizeof payload);
  struct progress progress = {false, 0};
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new("minimal-publisher", true, &progress);
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
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
      if (sent == 0) start = now();
      code = mosquitto_publish_v5(client, NULL, "benchmark/minimal", size, payload, qos, false, NULL);
      sent++;
    }
  }
  double seconds = now() - start;
  mosquitto_disconnect(client);
  mosquitto_destroy(client);
  return code == MOSQ_ERR_SUCCESS ? seconds : -(double)code;
}
