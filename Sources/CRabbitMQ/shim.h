#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <string.h>

// Swift cannot call variadic functions: one function for each authentication method.
static inline amqp_rpc_reply_t odograph_amqp_login_password(
    amqp_connection_state_t state, const char *vhost, int heartbeat, const char *user, const char *password) {
  return amqp_login(state, vhost, AMQP_DEFAULT_MAX_CHANNELS, AMQP_DEFAULT_FRAME_SIZE, heartbeat,
                    AMQP_SASL_METHOD_PLAIN, user, password);
}
// Authenticates as the subject of the certificate: RabbitMQ ignores the identity, but the library cannot send an
// empty one.
static inline amqp_rpc_reply_t odograph_amqp_login_certificate(
    amqp_connection_state_t state, const char *vhost, int heartbeat) {
  return amqp_login(state, vhost, AMQP_DEFAULT_MAX_CHANNELS, AMQP_DEFAULT_FRAME_SIZE, heartbeat,
                    AMQP_SASL_METHOD_EXTERNAL, "certificate");
}

// Selects trusted authorities if there is no file: the system's, or those of a folder. Returns 1 on success.
static inline int odograph_amqp_trust(amqp_socket_t *socket, const char *folder) {
  SSL_CTX *context = amqp_ssl_socket_get_context(socket);
  if (!context) return 0;
  return folder ? SSL_CTX_load_verify_locations(context, NULL, folder) : SSL_CTX_set_default_verify_paths(context);
}

// Sets the name that the certificate must contain; the library's own check does not support addresses. Returns 1 on
// success.
static inline int odograph_amqp_expect(amqp_socket_t *socket, const char *host) {
  SSL_CTX *context = amqp_ssl_socket_get_context(socket);
  X509_VERIFY_PARAM *rules = context ? SSL_CTX_get0_param(context) : NULL;
  if (!rules) return 0;
  amqp_ssl_socket_set_verify_hostname(socket, 0);
  int done = X509_VERIFY_PARAM_set1_ip_asc(rules, host) == 1 || X509_VERIFY_PARAM_set1_host(rules, host, 0) == 1;
  // A host name is not an address: clears this parse error, which the handshake would otherwise report.
  ERR_clear_error();
  return done;
}

// The library has no name for TLS versions above 1.2. Returns 1 on success.
static inline int odograph_amqp_oldest(amqp_socket_t *socket, int isThirteen) {
  SSL_CTX *context = amqp_ssl_socket_get_context(socket);
  return context && SSL_CTX_set_min_proto_version(context, isThirteen ? TLS1_3_VERSION : TLS1_2_VERSION) == 1;
}

// Code and text with which the broker has closed a channel or the connection; 0 if it has not.
static inline int odograph_amqp_closed(amqp_method_t method, amqp_bytes_t *words) {
  *words = amqp_empty_bytes;
  if (!method.decoded) return 0;
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    amqp_channel_close_t *close = method.decoded;
    *words = close->reply_text;
    return close->reply_code;
  }
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    amqp_connection_close_t *close = method.decoded;
    *words = close->reply_text;
    return close->reply_code;
  }
  return 0;
}

// Returns an integer or Boolean in the headers of a message; `otherwise` if there is no header of that name.
static inline int64_t odograph_amqp_header(const amqp_basic_properties_t *properties, const char *name, int64_t otherwise) {
  if (!(properties->_flags & AMQP_BASIC_HEADERS_FLAG)) return otherwise;
  for (int i = 0; i < properties->headers.num_entries; i++) {
    const amqp_table_entry_t *entry = &properties->headers.entries[i];
    if (entry->key.len != strlen(name) || memcmp(entry->key.bytes, name, entry->key.len)) continue;
    switch (entry->value.kind) {
      case AMQP_FIELD_KIND_BOOLEAN: return entry->value.value.boolean != 0;
      case AMQP_FIELD_KIND_I8: return entry->value.value.i8;
      case AMQP_FIELD_KIND_U8: return entry->value.value.u8;
      case AMQP_FIELD_KIND_I16: return entry->value.value.i16;
      case AMQP_FIELD_KIND_U16: return entry->value.value.u16;
      case AMQP_FIELD_KIND_I32: return entry->value.value.i32;
      case AMQP_FIELD_KIND_U32: return entry->value.value.u32;
      case AMQP_FIELD_KIND_I64: return entry->value.value.i64;
      default: return otherwise;
    }
  }
  return otherwise;
}

// Declares a durable queue of a type such as "quorum".
static inline amqp_rpc_reply_t odograph_amqp_declare(
    amqp_connection_state_t state, amqp_channel_t channel, const char *queue, const char *kind) {
  amqp_table_entry_t entry = {amqp_cstring_bytes("x-queue-type"), {AMQP_FIELD_KIND_UTF8}};
  entry.value.value.bytes = amqp_cstring_bytes(kind);
  amqp_table_t arguments = {1, &entry};
  amqp_queue_declare(state, channel, amqp_cstring_bytes(queue), 0, 1, 0, 0, arguments);
  return amqp_get_rpc_reply(state);
}

// Checks that a queue exists. Otherwise the broker closes the channel with 404.
static inline amqp_rpc_reply_t odograph_amqp_find(
    amqp_connection_state_t state, amqp_channel_t channel, const char *queue) {
  amqp_queue_declare(state, channel, amqp_cstring_bytes(queue), 1, 0, 0, 0, amqp_empty_table);
  return amqp_get_rpc_reply(state);
}

// A macro with a cast, which Swift does not import.
static const amqp_method_number_t odograph_amqp_cancel_method = AMQP_BASIC_CANCEL_METHOD;

// Takes C strings, and waits for the response.
static inline amqp_rpc_reply_t odograph_amqp_bind(
    amqp_connection_state_t state, amqp_channel_t channel, const char *queue, const char *exchange, const char *pattern) {
  amqp_queue_bind(state, channel, amqp_cstring_bytes(queue), amqp_cstring_bytes(exchange), amqp_cstring_bytes(pattern),
                  amqp_empty_table);
  return amqp_get_rpc_reply(state);
}
static inline amqp_rpc_reply_t odograph_amqp_consume(
    amqp_connection_state_t state, amqp_channel_t channel, const char *queue, const char *tag) {
  amqp_basic_consume(state, channel, amqp_cstring_bytes(queue), amqp_cstring_bytes(tag), 0, 0, 0, amqp_empty_table);
  return amqp_get_rpc_reply(state);
}
static inline amqp_rpc_reply_t odograph_amqp_cancel(
    amqp_connection_state_t state, amqp_channel_t channel, const char *tag) {
  amqp_basic_cancel(state, channel, amqp_cstring_bytes(tag));
  return amqp_get_rpc_reply(state);
}
static inline amqp_rpc_reply_t odograph_amqp_delete(
    amqp_connection_state_t state, amqp_channel_t channel, const char *queue) {
  amqp_queue_delete(state, channel, amqp_cstring_bytes(queue), 0, 0);
  return amqp_get_rpc_reply(state);
}
