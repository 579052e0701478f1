#include "fleet.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct progress {
  bool connected;
  int done;
};

static void on_connect(struct mosquitto *client, void *context, int reason, int flags, const mosquitto_property *p) {
  (void)client, (void)flags, (void)p;
  ((struct progress *)context)->connected = reason == 0;
}

static void on_publish(struct mosquitto *client, void *context, int id, int reason, const mosquitto_property *p) {
  (void)client, (void)id, (void)reason, (void)p;
  ((struct progress *)context)->done++;
}

static void on_message(
    struct mosquitto *client, void *context, const struct mosquitto_message *message, const mosquitto_property *p) {
  (void)client, (void)message, (void)p;
  ((struct progress *)context)->done++;
}

static void on_subscribing(struct mosquitto *client, void *context, int reason, int flags,
                           const mosquitto_property *p) {
  on_connect(client, context, reason, flags, p);
  mosquitto_subscribe_v5(client, NULL, "odograph/v1/#", 1, 0, NULL);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double publish_fleet(const char *host, int port, int qos, int window, int first, int count) {
  struct progress progress = {false, 0};
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new("fleet-publisher", true, &progress);
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, 65535);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_connect_v5_callback_set(client, on_connect);
  mosquitto_publish_v5_callback_set(client, on_publish);
  int code = mosquitto_connect(client, host, port, 60);
  int sent = 0;
  double start = now();
  while (code == MOSQ_ERR_SUCCESS && progress.done < count) {
    struct pollfd entry = {mosquitto_socket(client), POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0), 0};
    poll(&entry, 1, 1000);
    if (entry.revents & POLLIN) code = mosquitto_loop_read(client, 1);
    if (code == MOSQ_ERR_SUCCESS && entry.revents & POLLOUT) code = mosquitto_loop_write(client, 1);
    while (code == MOSQ_ERR_SUCCESS && progress.connected && sent < count && sent - progress.done < window) {
      int number = first + sent;
      char topic[64], payload[256];
      snprintf(topic, sizeof topic, "odograph/v1/bench/van-%02d/location", number % 100);
      int size = snprintf(payload, sizeof payload,
          "{\"time\":\"2026-11-21T%02d:%02d:%02d.%03dZ\",\"latitude\":48.%08d,\"longitude\":11.%08d,"
          "\"altitude\":520.25,\"horizontalAccuracy\":2.50,\"speed\":13.375,\"course\":271.25,"
          "\"epoch\":\"9f3a61c2d4e5\",\"seq\":%d}",
          number / 3600000 % 24, number / 60000 % 60, number / 1000 % 60, number % 1000, number % 100000000,
          number % 99999999, number / 100);
      if (sent == 0) start = now();
      code = mosquitto_publish_v5(client, NULL, topic, size, payload, qos, false, NULL);
      sent++;
    }
  }
  double seconds = now() - start;
  mosquitto_disconnect(client);
  mosquitto_loop_write(client, 1);
  mosquitto_destroy(client);
  return code == MOSQ_ERR_SUCCESS ? seconds : -(double)code;
}

int acknowledge_fleet(const char *host, int port, const char *client_id, int receive_maximum, int count) {
  struct progress progress = {false, 0};
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new(client_id, false, &progress);
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, receive_maximum);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_connect_v5_callback_set(client, on_subscribing);
  mosquitto_message_v5_callback_set(client, on_message);
  mosquitto_property *properties = NULL;
  mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 3600);
  int code = mosquitto_connect_bind_v5(client, host, port, 60, NULL, properties);
  while (code == MOSQ_ERR_SUCCESS && progress.done < count) code = mosquitto_loop(client, 1000, 1);
  if (code == MOSQ_ERR_SUCCESS) {
    mosquitto_disconnect(client);
    mosquitto_loop_write(client, 1);
  }
  mosquitto_destroy(client);
  return code;
}
