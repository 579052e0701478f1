#pragma once

// The least that a libmosquitto publisher can be: its own loop, a window of unacknowledged messages, no store.
// Publishes `count` messages of `size` bytes at QoS `qos` and returns the seconds from the first publish to the last
// acknowledgement, or a negative MOSQ_ERR code.
double publish_minimal(const char *host, int port, int qos, int window, int count, int size);
