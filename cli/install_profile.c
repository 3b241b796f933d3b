/* nccltune install-profile: a profile becomes what jobs on this machine or cluster get. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/locate.h"
#include "core/units.h"
#include "envgen/install/install.h"

#define COMMAND "install-profile"

static const char help_text[] =
    "Usage: nccltune install-profile PROFILE [OPTION]...\n"
    "       nccltune install-profile --previous | --uninstall [--purge] [OPTION]...\n"
    "Make a profile what jobs get: copied into a store, scheduled for the Slurm hooks, and in NCCL's own file.\n"
    "\n"
    "      --store DIR        where profiles are kept, on every node or shared; " INSTALL_STORE "\n"
    "      --nccl-conf FILE   NCCL's file, merged between marker lines; " INSTALL_NCCL_CONF "\n"
    "      --no-nccl-conf     leave NCCL's file alone\n"
    "      --plugin FILE      where " LOCATE_PLUGIN " is; that of this installation\n"
    "      --partition NAME   only for jobs of this Slurm partition (a canary); NCCL's file stays\n"
    "      --nodes LIST       only for jobs whose nodes are all in this list, such as n[1-4]\n"
    "      --delay T          from so long from now on; with a store on every node give it the time that reaching all\n"
    "                         of them takes, and all nodes change at one moment\n"
    "      --previous         back to the profile before this one; once more is forth again\n"
    "      --uninstall        take schedule, links and lines away; jobs that run keep their profile\n"
    "      --purge            and the profiles too\n"
    "  -h, --help             this text\n"
    "\n"
    "Examples\n"
    "  nccltune install-profile profile\n"
    "  nccltune install-profile profile --store /shared/nccltune --partition debug\n"
    "  nccltune install-profile --previous\n"
    "\n"
    "Exit status: 0 done; 1 not a whole profile, or something cannot be written; 2 wrong usage.\n";

enum {
    OPT_STORE = 256,
    OPT_CONF,
    OPT_NO_CONF,
    OPT_PLUGIN,
    OPT_PARTITION,
    OPT_NODES,
    OPT_DELAY,
    OPT_PREVIOUS,
    OPT_UNINSTALL,
    OPT_PURGE
};

static const struct option long_options[] = {
    {"store", required_argument, NULL, OPT_STORE},
    {"nccl-conf", required_argument, NULL, OPT_CONF},
    {"no-nccl-conf", no_argument, NULL, OPT_NO_CONF},
    {"plugin", required_argument, NULL, OPT_PLUGIN},
    {"partition", required_argument, NULL, OPT_PARTITION},
    {"nodes", required_argument, NULL, OPT_NODES},
    {"delay", required_argument, NULL, OPT_DELAY},
    {"previous", no_argument, NULL, OPT_PREVIOUS},
    {"uninstall", no_argument, NULL, OPT_UNINSTALL},
    {"purge", no_argument, NULL, OPT_PURGE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct request {
    struct install_site site;
    struct install_scope scope;
    const char *profile;
    int previous, uninstall, purge, help;
};

static int take_option(int option, const char *arg, struct request *w, struct err *e)
{
    double seconds;
    const struct {
        int option;
        const char **where;
    } texts[] = {{OPT_STORE, &w->site.store},
                 {OPT_CONF, &w->site.nccl_conf},
                 {OPT_PLUGIN, &w->site.plugin},
                 {OPT_PARTITION, &w->scope.partition},
                 {OPT_NODES, &w->scope.nodes}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option) {
            *texts[i].where = arg;
            return 0;
        }
    switch (option) {
    case OPT_DELAY:
        if (unit_parse_seconds(arg, &seconds, "--delay", e))
            return ERR_USAGE;
        w->scope.delay_s = (long)seconds;
        return 0;
    case OPT_NO_CONF:
        w->site.nccl_conf = NULL;
        return 0;
    case OPT_PREVIOUS:
        w->previous = 1;
        return 0;
    case OPT_UNINSTALL:
        w->uninstall = 1;
        return 0;
    case OPT_PURGE:
        w->purge = 1;
        return 0;
    case 'h':
        w->help = 1;
        return 0;
    default:
        return ERR_USAGE;
    }
}

static int is_absolute(const char *path)
{
    return path && *path == '/';
}

static int parse(int argc, char **argv, struct request *w)
{
    struct err e = {0};
    int option, rc = 0;
    optind = 1;
    while (!rc && !w->help && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
        rc = take_option(option, optarg, w, &e);
    if (rc)
        return *e.text ? cli_usage(COMMAND, "%s", e.text) : cli_usage(COMMAND, NULL);
    if (w->help)
        return 0;
    if (argc - optind != !(w->previous || w->uninstall))
        return cli_usage(COMMAND, "expected one PROFILE, or --previous, or --uninstall");
    if (w->previous && w->uninstall)
        return cli_usage(COMMAND, "--previous and --uninstall exclude each other");
    if (w->purge && !w->uninstall)
        return cli_usage(COMMAND, "--purge belongs to --uninstall");
    if ((w->scope.partition && w->scope.nodes) ||
        ((w->scope.partition || w->scope.nodes) && (w->previous || w->uninstall)))
        return cli_usage(COMMAND, "--partition and --nodes exclude each other, and go with a PROFILE");
    if (!is_absolute(w->site.store) || !is_absolute(w->site.plugin))
        return cli_usage(COMMAND, "--store and --plugin: expected absolute paths");
    w->profile = argv[optind];
    return 0;
}

/* What a container needs: the files, and to be told. */
static void print_containers(const struct install_site *s, const struct install_done *d)
{
    printf("\nWith P=%s\n and T=%s\n", d->dir, s->plugin);
    puts("in containers:\n"
         "  docker run     -v $P:$P:ro -v $T:$T:ro\n"
         "                 -e NCCL_TUNER_PLUGIN=$T -e NCCLTUNE_PROFILE=$P\n"
         "  apptainer exec --bind $P,$T\n"
         "                 --env NCCL_TUNER_PLUGIN=$T,NCCLTUNE_PROFILE=$P\n"
         "  enroot start   --mount $P:$P:none:x-create=dir,bind,ro --mount $T:$T:none:x-create=file,bind,ro\n"
         "                 --env NCCL_TUNER_PLUGIN=$T --env NCCLTUNE_PROFILE=$P\n"
         "  srun (Pyxis)   --container-mounts=$P:$P:ro,$T:$T:ro\n"
         "                 and where there are no hooks --export=ALL,NCCL_TUNER_PLUGIN=$T,NCCLTUNE_PROFILE=$P\n"
         "  NCCL 2.28.7 and later in a container: -e NCCL_ENV_PLUGIN=$T and NCCLTUNE_CLASS set the settings, too\n"
         "without Slurm:\n"
         "  Ray            ray.init(runtime_env={\"env_vars\":\n"
         "                 {\"NCCL_TUNER_PLUGIN\": \"$T\", \"NCCLTUNE_PROFILE\": \"$P\"}})\n"
         "  torchrun       NCCL_TUNER_PLUGIN=$T NCCLTUNE_PROFILE=$P torchrun ...");
}

static void print_done(const struct request *w, const struct install_done *d)
{
    printf("%s\n", d->dir);
    if (w->scope.partition)
        printf("jobs of partition %s get it", w->scope.partition);
    else if (w->scope.nodes)
        printf("jobs inside %s get it", w->scope.nodes);
    else
        printf("all jobs get it");
    if (w->scope.delay_s)
        printf(" that start in %ld s or later", w->scope.delay_s);
    printf(" through the Slurm hooks\n");
    if (d->nccl_conf)
        printf("%s %s\n", w->site.nccl_conf, d->nccl_conf);
    print_containers(&w->site, d);
}

int install_profile_main(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct request w = {
        .site = {.store = INSTALL_STORE, .nccl_conf = INSTALL_NCCL_CONF, .plugin = locate_expected(LOCATE_PLUGIN, a)}};
    struct install_done done = {0};
    struct err e = {0};
    int rc = parse(argc, argv, &w);
    if (rc || w.help) {
        arena_free(a);
        return rc ? rc : fputs(help_text, stdout) < 0;
    }
    if (w.uninstall)
        rc = install_remove(&w.site, w.purge, &e);
    else if (w.previous)
        rc = install_previous(&w.site, &done, &e);
    else
        rc = install_profile(&w.site, w.profile, &w.scope, &done, &e);
    if (!rc && !w.uninstall)
        print_done(&w, &done);
    install_done_free(&done);
    arena_free(a);
    return rc ? cli_fail(COMMAND, &e) : 0;
}
