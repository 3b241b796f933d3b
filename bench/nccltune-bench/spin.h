/* A thread that computes beside the calls of its rank, and how much slower it does so meanwhile. */
#pragma once

/* Starts it, and finds out how fast it is by itself. -1: there is no thread to be had. */
int spin_start(void);

/* What has been done between these is held against that: how many times slower, 1 or more. */
void spin_begin(void);
double spin_end(void);

void spin_stop(void); /* also where none was started */
