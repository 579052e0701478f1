#pragma once
#include <crypt.h>
#include <stdlib.h>
#include <string.h>

// crypt(3) with separate memory, since its 32 kB are too large for a value. `hash` has CRYPT_OUTPUT_SIZE bytes.
// Returns 1 on success; 0 for an unsupported setting, a password that is too long, and if memory is insufficient.
// Clears all copies of the password.
static inline int odograph_crypt(const char *password, const char *setting, char *hash) {
  struct crypt_data *data = calloc(1, sizeof *data);
  if (!data) return 0;
  char *made = crypt_rn(password, setting, data, sizeof *data);
  size_t length = made ? strnlen(made, CRYPT_OUTPUT_SIZE) : 0;
  int fits = length > 0 && length < CRYPT_OUTPUT_SIZE;
  if (fits) memcpy(hash, made, length + 1);
  memset(data, 0, sizeof *data);
  __asm__ __volatile__("" : : "r"(data) : "memory");  // prevents the compiler from removing the memset
  free(data);
  return fits;
}
// Creates a setting for yescrypt with random salt of the system. `setting` has CRYPT_GENSALT_OUTPUT_SIZE bytes.
static inline int odograph_crypt_setting(unsigned long cost, char *setting) {
  return crypt_gensalt_rn("$y$", cost, NULL, 0, setting, CRYPT_GENSALT_OUTPUT_SIZE) != NULL;
}
static const int odograph_crypt_hash_size = CRYPT_OUTPUT_SIZE;
static const int odograph_crypt_setting_size = CRYPT_GENSALT_OUTPUT_SIZE;
static const int odograph_crypt_password_size = CRYPT_MAX_PASSPHRASE_SIZE;
