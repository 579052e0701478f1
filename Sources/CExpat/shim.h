#pragma once
#include <expat.h>

// XML_GetUserData is a macro, which Swift does not import.
static inline void *odograph_xml_user_data(XML_Parser parser) { return XML_GetUserData(parser); }
