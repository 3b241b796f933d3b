/* The conductor of engines that measure: which launches are run when. */
#pragma once

#include "bench/search/study.h"

/* Runs everything; what has been journalled already is not measured again. */
int bench_conduct(struct bench_study *s, struct err *e);
