#include "CBuild.h"

#ifndef ODOGRAPH_COMMIT
#define ODOGRAPH_COMMIT ""
#endif
#ifndef ODOGRAPH_BUILD_DATE
#define ODOGRAPH_BUILD_DATE ""
#endif

// Functions instead of constants, so that another commit recompiles only this file.
const char *odograph_version(void) { return ODOGRAPH_VERSION; }
const char *odograph_commit(void) { return ODOGRAPH_COMMIT; }
const char *odograph_build_date(void) { return ODOGRAPH_BUILD_DATE; }
