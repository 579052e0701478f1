#pragma once

// The least that programs with libmosquitto can be, for comparison.

// Publishes `count` messages of about 200 bytes in the native profile, each with its own number, for 100 vehicles in
// turn. Returns the seconds until the last is acknowledged (QoS 1) or written (QoS 0), or a negative MOSQ_ERR code.
double publish_fleet(const char *host, int port, int qos, int window, int first, int count);

// Subscribes under a lasting session at QoS 1 and acknowledges `count` messages, of which it keeps nothing. Returns 0,
// or a MOSQ_ERR code.
int acknowledge_fleet(const char *host, int port, const char *client_id, int receive_maximum, int count);
