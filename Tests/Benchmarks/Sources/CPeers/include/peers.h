#pragma once

// Minimal programs with libmosquitto for comparison: their own loop, a window of unacknowledged messages, no store. Publishers return the
// seconds from the first publish until the last acknowledgement (QoS 1) or until the last message is written (QoS 0), or a negative
// MOSQ_ERR code.

// Publishes `count` messages of `size` bytes to one topic.
double publish_minimal(const char *host, int port, int qos, int window, int count, int size);

// Publishes `count` messages of about 200 bytes in the native profile for 100 vehicles in turn, numbered from `first` on.
double publish_fleet(const char *host, int port, int qos, int window, int first, int count);

// The same with QoS 1 and MQTT 3.1.1.
double publish_fleet_v311(const char *host, int port, int window, int first, int count);

// Subscribes with a persistent session at QoS 1 and acknowledges `count` messages without storing them. Returns 0, or a MOSQ_ERR code.
int acknowledge_fleet(const char *host, int port, const char *client_id, int receive_maximum, int count);
