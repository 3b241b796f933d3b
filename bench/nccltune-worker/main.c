/* nccltune-worker: measures NCCL for nccltune. libc only; NCCL and the GPU driver are loaded when they are needed, so
 * that one build serves every site and every container. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/nccltune-worker/worker.h"
#include "bench/noise/signs.h"
#include "core/delivered.h"
#include "core/err.h"
#include "core/launcher.h"

static const char help[] =
    "Usage: nccltune-worker agent [--connect ADDRESS:PORT[,...] [--as NAME] [--stdin]]\n"
    "       nccltune-worker rank RANK LOCAL [--nccl-lib PATH]\n"
    "       nccltune-worker signs\n"
    "The part of nccltune that runs NCCL. nccltune bench --engine nccl starts one agent per node, which starts one\n"
    "worker per GPU; nobody needs to run it by hand. See nccltune-worker(1).\n";

/* Print this node's signs of the start and of the end, which is that of the input. */
static int serve_signs(void)
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

static int print_usage(void)
{
    fputs(help, stderr);
    return ERR_USAGE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"nccl-lib", required_argument, NULL, 'n'},
                                            {"connect", required_argument, NULL, 'c'},
                                            {"as", required_argument, NULL, 'a'},
                                            {"stdin", no_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {0}};
    struct worker_options o = {0};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'n':
            o.nccl = optarg;
            break;
        case 'c':
            o.connect = optarg;
            break;
        case 'a':
            o.name = optarg;
            break;
        case 's':
            if (surroundings_read()) {
                fputs("nccltune-worker: standard input ended before the environment that --stdin expects\n", stderr);
                return ERR_USAGE;
            }
            break;
        case 'h':
            return fputs(help, stdout) < 0;
        case 'V':
            return puts("nccltune-worker " NCCLTUNE_VERSION) < 0;
        default:
            return print_usage();
        }
    }
    signal(SIGPIPE, SIG_IGN);
    argc -= optind;
    argv += optind;
    if (argc == 1 && !strcmp(argv[0], "agent")) {
        struct arena *removed = arena_new();
        delivered_remove(removed);
        arena_free(removed);
        surroundings_unpin();
        return agent_serve(&o);
    }
    if (argc == 1 && !strcmp(argv[0], "signs"))
        return serve_signs();
    if (argc != 3 || strcmp(argv[0], "rank") != 0)
        return print_usage();
    o.rank = launcher_number(argv[1]);
    o.local = launcher_number(argv[2]);
    return o.rank < 0 || o.local < 0 ? print_usage() : rank_serve(&o);
}
