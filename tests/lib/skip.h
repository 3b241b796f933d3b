/* The name that it had: use tests/lib/unit.h. */
#include "tests/lib/unit.h"
