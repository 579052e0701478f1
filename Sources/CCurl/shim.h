#pragma once
// Disables compile-time checks of the macros, whose arguments are parameters here.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Swift cannot call variadic functions: one function for each type of argument.
static inline CURLcode odograph_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode odograph_curl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode odograph_curl_set_headers(CURL *handle, struct curl_slist *value) {
  return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, value);
}
static inline CURLcode odograph_curl_set_errors(CURL *handle, char *buffer) {
  return curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, buffer);
}

typedef size_t (*odograph_curl_writer)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode odograph_curl_set_writer(CURL *handle, odograph_curl_writer writer, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, writer);
  return code ? code : curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}
static inline CURLcode odograph_curl_set_header_writer(CURL *handle, odograph_curl_writer writer, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, writer);
  return code ? code : curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
}

typedef int (*odograph_curl_watch)(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
static inline CURLcode odograph_curl_set_watch(CURL *handle, odograph_curl_watch watch, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, watch);
  if (!code) code = curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
  return code ? code : curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
}

static inline long odograph_curl_status(CURL *handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}
static inline long long odograph_curl_retry_after(CURL *handle) {
  curl_off_t seconds = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds);
  return seconds;
}
static inline const char *odograph_curl_content_type(CURL *handle) {
  char *type = NULL;
  curl_easy_getinfo(handle, CURLINFO_CONTENT_TYPE, &type);
  return type;
}

// Letters: recipients, and the text in pieces.
static inline CURLcode odograph_curl_set_recipients(CURL *handle, struct curl_slist *value) {
  return curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, value);
}
typedef size_t (*odograph_curl_reader)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode odograph_curl_set_reader(CURL *handle, odograph_curl_reader reader, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, reader);
  return code ? code : curl_easy_setopt(handle, CURLOPT_READDATA, context);
}
