#pragma once
#include <jansson.h>

// jansson's reference count is a macro over struct fields; this gives Swift a plain function.
static inline void odograph_json_release(json_t *value) { json_decref(value); }
