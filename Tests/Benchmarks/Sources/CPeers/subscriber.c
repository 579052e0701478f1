#include "peers.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stdbool.h>

static void on_message(
    struct mosquitto *client, void *context, const struct mosquitto_message *message, const mosquitto_property *p) {
  (void)client, (void)message, (void)p;
  (*(int *)context)++;
}

static void on_connect(struct mosquitto *client, void *context, int reason, int flags, const mosquitto_property *p) {
  (void)context, (void)flags, (void)p;
  if (reason == 0) mosquitto_subscribe_v5(client, NULL, "odograph/v1/#", 1, 0, NULL);
}

int acknowledge_fleet(const char *host, int port, const char *client_id, int receive_maximum, int count) {
  int received = 0;
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new(client_id, false, &received);
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, receive_maximum);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_connect_v5_callback_set(client, on_connect);
  mosquitto_message_v5_callback_set(client, on_message);
  mosquitto_property *properties = NULL;
  mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 3600);
  int code = mosquitto_connect_bind_v5(client, host, port, 60, NULL, properties);
  while (code == MOSQ_ERR_SUCCESS && received < count) code = mosquitto_loop(client, 1000, 1);
  if (code == MOSQ_ERR_SUCCESS) {
    mosquitto_disconnect(client);
    mosquitto_loop_write(client, 1);
  }
  mosquitto_destroy(client);
  return code;
}
