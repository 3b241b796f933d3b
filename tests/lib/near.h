/* What cmocka 1.1.5 lacks: floating-point comparison. */
#ifndef TESTS_LIB_NEAR_H
#define TESTS_LIB_NEAR_H

#include <math.h>

#define assert_near(got, want, tolerance) assert_true(fabs((double)(got) - (double)(want)) <= (tolerance))

#endif
