#define _GNU_SOURCE
#include "CFakeBroker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { portion = 1 << 18 };

struct fake_broker {
  pthread_t thread;
  int listener, port;
  int count, quality;
  // One PUBLISH, and the offset of its packet identifier.
  uint8_t *packet;
  size_t packet_size, identifier;
};

static void send_whole(int descriptor, const uint8_t *bytes, size_t size) {
  while (size > 0) {
    ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) {
      struct pollfd entry = {descriptor, POLLOUT, 0};
      poll(&entry, 1, 1000);
      continue;
    }
    if (sent <= 0) return;
    bytes += sent;
    size -= (size_t)sent;
  }
}

// Sends all messages, and reads and discards everything received, so that the client's answers do not block.
static void publish(struct fake_broker *broker, int client) {
  uint8_t *out = malloc(portion + broker->packet_size);
  uint8_t in[65536];
  size_t have = 0, gone = 0;
  int made = 0;
  uint16_t identifier = 0;
  fcntl(client, F_SETFL, O_NONBLOCK);
  while (true) {
    if (gone == have) {
      have = gone = 0;
      while (made < broker->count && have < portion) {
        memcpy(out + have, broker->packet, broker->packet_size);
        if (broker->quality > 0) {
          if (++identifier == 0) identifier = 1;
          out[have + broker->identifier] = (uint8_t)(identifier >> 8);
          out[have + broker->identifier + 1] = (uint8_t)identifier;
        }
        have += broker->packet_size;
        made++;
      }
    }
    struct pollfd entry = {client, POLLIN | (gone < have ? POLLOUT : 0), 0};
    poll(&entry, 1, 1000);
    if (entry.revents & (POLLIN | POLLHUP)) {
      ssize_t count = read(client, in, sizeof in);
      if (count == 0 || (count < 0 && errno != EAGAIN)) break;
    }
    if (entry.revents & POLLOUT) {
      ssize_t count = send(client, out + gone, have - gone, MSG_NOSIGNAL);
      if (count > 0) gone += (size_t)count;
    }
  }
  free(out);
}

// Answers each PUBLISH of QoS 1 with a PUBACK; other packets remain unanswered.
static void acknowledge(int client) {
  static _Thread_local uint8_t in[1 << 17], out[1 << 17];
  size_t have = 0;
  while (true) {
    ssize_t count = read(client, in + have, sizeof in - have);
    if (count <= 0) return;
    have += (size_t)count;
    size_t start = 0, answered = 0;
    while (true) {
      size_t length = 0, header = 1;
      int shift = 0;
      bool is_whole = false;
      while (start + header < have && shift <= 21) {
        uint8_t byte = in[start + header++];
        length |= (size_t)(byte & 127) << shift;
        shift += 7;
        if (!(byte & 128)) {
          is_whole = true;
          break;
        }
      }
      if (!is_whole || start + header + length > have) break;
      if (in[start] >> 4 == 3) {
        size_t topic = (size_t)in[start + header] << 8 | in[start + header + 1];
        uint8_t *identifier = in + start + header + 2 + topic;
        uint8_t answer[4] = {0x40, 2, identifier[0], identifier[1]};
        memcpy(out + answered, answer, 4);
        answered += 4;
      }
      start += header + length;
    }
    memmove(in, in + start, have - start);
    have -= start;
    send_whole(client, out, answered);
  }
}

static void *serve(void *context) {
  struct fake_broker *broker = context;
  int client = accept4(broker->listener, NULL, NULL, SOCK_CLOEXEC);
  int one = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  uint8_t bytes[4096];
  if (read(client, bytes, sizeof bytes) > 0) {
    send_whole(client, (const uint8_t[]){0x20, 3, 0, 0, 0}, 5);
    if (broker->count > 0) publish(broker, client); else acknowledge(client);
  }
  close(client);
  return NULL;
}

static void make_packet(struct fake_broker *broker, const char *topic, const unsigned char *properties,
                        size_t properties_size, size_t size) {
  size_t topic_size = strlen(topic);
  size_t length = 2 + topic_size + (broker->quality > 0 ? 2 : 0) + properties_size + size;
  uint8_t *packet = malloc(length + 5);
  size_t place = 0;
  packet[place++] = (uint8_t)(0x30 | broker->quality << 1);
  size_t rest = length;
  do {
    packet[place++] = (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0));
    rest >>= 7;
  } while (rest > 0);
  packet[place++] = (uint8_t)(topic_size >> 8);
  packet[place++] = (uint8_t)topic_size;
  memcpy(packet + place, topic, topic_size);
  place += topic_size;
  broker->identifier = place;
  if (broker->quality > 0) place += 2;
  memcpy(packet + place, properties, properties_size);
  place += properties_size;
  memset(packet + place, 'x', size);
  broker->packet = packet;
  broker->packet_size = place + size;
}

static int listen_somewhere(int *port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  bind(listener, (struct sockaddr *)&address, sizeof address);
  listen(listener, 1);
  getsockname(listener, (struct sockaddr *)&address, &size);
  *port = ntohs(address.sin_port);
  return listener;
}

struct fake_broker *fake_broker_start(int count, int quality, const char *topic, const unsigned char *properties,
                                      int properties_size, int size) {
  struct fake_broker *broker = calloc(1, sizeof *broker);
  broker->count = count;
  broker->quality = quality;
  make_packet(broker, topic, properties, (size_t)properties_size, (size_t)size);
  broker->listener = listen_somewhere(&broker->port);
  pthread_create(&broker->thread, NULL, serve, broker);
  return broker;
}

int fake_broker_port(const struct fake_broker *broker) { return broker->port; }

void fake_broker_end(struct fake_broker *broker) {
  pthread_join(broker->thread, NULL);
  close(broker->listener);
  free(broker->packet);
  free(broker);
}

int fake_broker_free_port(void) {
  int port = 0;
  close(listen_somewhere(&port));
  return port;
}
