/* Reading numbers. */
#include "bench/nccltune-worker/number.h"

long worker_number(const char *s, long high)
{
    long n = 0;
    if (!*s)
        return -1;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || n > (high - (*s - '0')) / 10)
            return -1;
        n = n * 10 + (*s - '0');
    }
    return n;
}
