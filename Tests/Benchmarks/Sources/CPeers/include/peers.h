#pragma once

// The least that programs with libmosquitto can be, for comparison: their own loop, a window of unacknowledged messages,
// no store. Publishers return the seconds from the first publish to the last acknowledgement (QoS 1) or until the last is
// written (QoS 0), or a negative MOSQ_ERR code.

// Publishes `count` messages of `size` bytes to one topic.
double publish_minimal(const char *host, int port, int qos, int window, int count, int size);

// Publishes `count` messages of about 200 bytes in the native profile, each with its own number from `first` on, for 100
// vehicles in turn.
double publish_fleet(const char *host, int port, int qos, int window, int first, int count);

// The same at QoS 1 to a broker that speaks MQTT 3.1.1 alone.
double publish_fleet_v311(const char *host, int port, int window, int first, int count);

// Subscribes under a lasting session at QoS 1 and acknowledges `count` messages, of which it keeps nothing. Returns 0,
// or a MOSQ_ERR code.
int acknowledge_fleet(const char *host, int port, const char *client_id, int receive_maximum, int count);
