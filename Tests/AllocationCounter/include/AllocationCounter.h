#pragma once
#include <stdbool.h>

/// Allocations of the calling thread since it began. Counts while the program's own `malloc` is in place, which a
/// sanitizer's replaces.
long allocation_count(void);

/// Whether allocations are counted.
bool allocation_is_counted(void);
