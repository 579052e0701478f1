#pragma once

// What the programs say of themselves. The version stands here; commit and day of the build are given by
// Deploy/build-static.sh through the manifest, and are empty in a development build.
#define ODOGRAPH_VERSION "0.1.0"

const char *odograph_version(void);
const char *odograph_commit(void);
const char *odograph_build_date(void);
