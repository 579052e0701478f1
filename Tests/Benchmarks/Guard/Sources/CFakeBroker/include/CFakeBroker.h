#pragma once

// A broker with minimal processing time: accepts one client, sends CONNACK, and then either sends PUBLISH packets and discards the answers,
// or acknowledges the received PUBLISH packets.

struct fake_broker;

/// Listens on a free loopback port and serves one client on its own thread.
/// - count: number of messages to send; 0 to acknowledge messages.
/// - quality, topic, properties, size: of each message; `properties` is the encoded property section including its length.
struct fake_broker *fake_broker_start(int count, int quality, const char *topic, const unsigned char *properties,
                                      int properties_size, int size);

int fake_broker_port(const struct fake_broker *broker);

/// Waits until the client has disconnected, and releases the broker.
void fake_broker_end(struct fake_broker *broker);

/// Returns a free loopback port.
int fake_broker_free_port(void);
