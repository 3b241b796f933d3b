/* A node's condition before and after, for whoever measures there. */
#include <stdio.h>
#include <unistd.h>

#include "bench/nccltune-worker/worker.h"
#include "bench/noise/signs.h"

int signs_serve(void)
{
    char ignored[256];
    struct gpu_watch *gpus = gpu_watch_open();
    struct signs before = {.arena = arena_new()}, after = {.arena = before.arena};
    signs_read(&before, gpus);
    while (read(STDIN_FILENO, ignored, sizeof ignored) > 0)
        ;
    signs_read(&after, gpus);
    signs_print(&before, stdout);
    signs_print(&after, stdout);
    gpu_watch_close(gpus);
    arena_free(before.arena);
    return fflush(stdout) != 0;
}
