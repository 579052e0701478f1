#pragma once

// A broker that is as fast as can be: it takes one client, says CONNACK, and then either sends PUBLISH after PUBLISH and
// leaves the answers unread in a drawer, or acknowledges what it is sent.

struct fake_broker;

/// Listens on a free loopback port, and serves one client on a thread of its own.
/// - count: messages that it sends; 0 for one that acknowledges.
/// - quality, topic, properties, size: of each message; `properties` are the bytes of its property section, its length included.
struct fake_broker *fake_broker_start(int count, int quality, const char *topic, const unsigned char *properties,
                                      int properties_size, int size);

int fake_broker_port(const struct fake_broker *broker);

/// Waits for the client's end.
void fake_broker_end(struct fake_broker *broker);

/// A loopback port that is free.
int fake_broker_free_port(void);
