#pragma once
#include <stdbool.h>

/// Number of allocations of the calling thread since its start. Zero under a sanitizer, which replaces `malloc`
/// itself.
long allocation_count(void);

/// True if allocations are counted.
bool allocation_is_counted(void);
