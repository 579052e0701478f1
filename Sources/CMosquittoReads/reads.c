#define _GNU_SOURCE
#include "CMosquittoReads.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*ssl_reading)(void *ssl, void *buffer, int count);
typedef int (*ssl_counting)(const void *ssl);

static _Thread_local struct {
  mosquitto_reader reader;
  void *context;
  mosquitto_ready_bytes *ready;
  // The redirected call.
  void *ssl;
  int descriptor;
} current;

static ssl_reading real_ssl_read;
static ssl_counting real_ssl_pending;
static bool is_redirected;

size_t mosquitto_reads_take(mosquitto_ready_bytes *ready, void *buffer, size_t count) {
  if (count > ready->count) count = ready->count;
  memcpy(buffer, ready->bytes, count);
  ready->bytes = (const char *)ready->bytes + count;
  ready->count -= count;
  return count;
}

static ssize_t redirected_read(int descriptor, void *buffer, size_t count) {
  if (!current.reader) return read(descriptor, buffer, count);
  if (current.ready->count > 0) return (ssize_t)mosquitto_reads_take(current.ready, buffer, count);
  current.ssl = NULL;
  current.descriptor = descriptor;
  return current.reader(current.context, buffer, count);
}

static int redirected_ssl_read(void *ssl, void *buffer, int count) {
  if (!current.reader || count <= 0) return real_ssl_read(ssl, buffer, count);
  if (current.ready->count > 0) return (int)mosquitto_reads_take(current.ready, buffer, (size_t)count);
  current.ssl = ssl;
  return (int)current.reader(current.context, buffer, (size_t)count);
}

// The library continues with the next packet automatically while bytes are pending here.
static int redirected_ssl_pending(const void *ssl) {
  if (current.reader && current.ready->count > 0) return (int)current.ready->count;
  return real_ssl_pending(ssl);
}

void mosquitto_reads_through(mosquitto_reader reader, void *context, mosquitto_ready_bytes *ready) {
  current.reader = reader;
  current.context = context;
  current.ready = ready;
}

ssize_t mosquitto_reads_receive(void *buffer, size_t count) {
  if (!current.ssl) return read(current.descriptor, buffer, count);
  return real_ssl_read(current.ssl, buffer, count > INT_MAX ? INT_MAX : (int)count);
}

// A segment of a module that the dynamic linker has made read-only after relocation.
struct protected_segment {
  ElfW(Addr) base, start, end;
};

static int find_protected(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  struct protected_segment *segment = context;
  if (info->dlpi_addr != segment->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) continue;
    segment->start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    segment->end = segment->start + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

static bool replace(void **slot, void *function, const struct protected_segment *segment) {
  ElfW(Addr) page_size = (ElfW(Addr))sysconf(_SC_PAGESIZE);
  void *page = (void *)((ElfW(Addr))slot & ~(page_size - 1));
  bool is_protected = (ElfW(Addr))slot >= segment->start && (ElfW(Addr))slot < segment->end;
  if (is_protected && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  if (is_protected) mprotect(page, page_size, PROT_READ);
  return true;
}

// glibc adds the module's base to most addresses in its dynamic section, but on some processors to none.
static ElfW(Addr) absolute(ElfW(Addr) address, const struct link_map *map) {
  return address < map->l_addr ? address + map->l_addr : address;
}

static void redirect(void) {
  Dl_info info;
  struct link_map *map = NULL;
  void *known = dlsym(RTLD_DEFAULT, "mosquitto_loop_read");
  if (!known || !dladdr1(known, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  // Relocation tables: address, size, and size of an entry in bytes.
  struct {
    ElfW(Addr) start;
    size_t size, entry;
  } tables[3] = {{0, 0, 0}, {0, 0, sizeof(ElfW(Rela))}, {0, 0, sizeof(ElfW(Rel))}};
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols = (const ElfW(Sym) *)absolute(entry->d_un.d_ptr, map); break;
      case DT_STRTAB: names = (const char *)absolute(entry->d_un.d_ptr, map); break;
      case DT_JMPREL: tables[0].start = absolute(entry->d_un.d_ptr, map); break;
      case DT_PLTRELSZ: tables[0].size = entry->d_un.d_val; break;
      case DT_PLTREL:
        tables[0].entry = entry->d_un.d_val == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
        break;
      case DT_RELA: tables[1].start = absolute(entry->d_un.d_ptr, map); break;
      case DT_RELASZ: tables[1].size = entry->d_un.d_val; break;
      case DT_REL: tables[2].start = absolute(entry->d_un.d_ptr, map); break;
      case DT_RELSZ: tables[2].size = entry->d_un.d_val; break;
      default: break;
    }
  }
  if (!symbols || !names) return;
  real_ssl_read = (ssl_reading)dlsym(RTLD_DEFAULT, "SSL_read");
  real_ssl_pending = (ssl_counting)dlsym(RTLD_DEFAULT, "SSL_pending");
  struct protected_segment segment = {map->l_addr, 0, 0};
  dl_iterate_phdr(find_protected, &segment);
  bool reads = false, is_whole = true;
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
    if (!tables[t].start || !tables[t].entry) continue;
    for (size_t offset = 0; offset + tables[t].entry <= tables[t].size; offset += tables[t].entry) {
      // Rel and Rela have the same first two members.
      const ElfW(Rel) *relocation = (const ElfW(Rel) *)(tables[t].start + offset);
#if __ELF_NATIVE_CLASS == 64
      size_t symbol = ELF64_R_SYM(relocation->r_info);
#else
      size_t symbol = ELF32_R_SYM(relocation->r_info);
#endif
      if (symbol == 0) continue;
      const char *name = names + symbols[symbol].st_name;
      void **slot = (void **)(map->l_addr + relocation->r_offset);
      if (strcmp(name, "read") == 0) {
        is_whole &= replace(slot, (void *)redirected_read, &segment);
        reads = true;
      } else if (real_ssl_read && strcmp(name, "SSL_read") == 0) {
        is_whole &= replace(slot, (void *)redirected_ssl_read, &segment);
      } else if (real_ssl_pending && strcmp(name, "SSL_pending") == 0) {
        replace(slot, (void *)redirected_ssl_pending, &segment);
      }
    }
  }
  is_redirected = reads && is_whole;
}

bool mosquitto_reads_redirect(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, redirect);
  return is_redirected;
}
