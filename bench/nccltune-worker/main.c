/* nccltune-worker: measures NCCL for nccltune. libc only; NCCL and the GPU driver are loaded when they are needed, so
 * that one build serves every site and every container. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/nccltune-worker/number.h"
#include "bench/nccltune-worker/surroundings.h"
#include "bench/nccltune-worker/worker.h"
#include "core/err.h"

static const char help[] =
    "Usage: nccltune-worker agent [--connect ADDRESS:PORT[,...] [--as NAME] [--stdin]]\n"
    "       nccltune-worker rank RANK LOCAL [--nccl-lib PATH]\n"
    "       nccltune-worker signs\n"
    "The part of nccltune that runs NCCL. nccltune bench --engine nccl starts one agent a node, which starts one\n"
    "worker a GPU; there is no need to run it by hand. See nccltune-worker(1).\n";

static int usage(void)
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
            return usage();
        }
    }
    signal(SIGPIPE, SIG_IGN);
    argc -= optind;
    argv += optind;
    if (argc == 1 && !strcmp(argv[0], "agent")) {
        surroundings_unpin();
        return agent_serve(&o);
    }
    if (argc == 1 && !strcmp(argv[0], "signs"))
        return signs_serve();
    if (argc != 3 || strcmp(argv[0], "rank") != 0)
        return usage();
    o.rank = (int)worker_number(argv[1], 1 << 20);
    o.local = (int)worker_number(argv[2], 1 << 20);
    return o.rank < 0 || o.local < 0 ? usage() : rank_serve(&o);
}
