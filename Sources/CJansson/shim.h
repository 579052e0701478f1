#pragma once
#include <jansson.h>

// jansson's reference count and type tests are macros or inline functions over struct fields; these give
// Swift one plain function each.
static inline void odograph_json_release(json_t *value) { json_decref(value); }
static inline int odograph_json_type(const json_t *value) { return (int)json_typeof(value); }
