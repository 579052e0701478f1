#pragma once

// Version information of the programs. The version is defined here. Deploy/build-static.sh sets commit and date of
// the build through the manifest; they are empty in a development build.
#define ODOGRAPH_VERSION "0.1.0"

const char *odograph_version(void);
const char *odograph_commit(void);
const char *odograph_build_date(void);
