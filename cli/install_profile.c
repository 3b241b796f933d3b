/* nccltune install-profile: a profile becomes what jobs on this machine or cluster get. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/locate.h"
#include "core/units.h"
#include "envgen/install/install.h"

#define COMMAND "nccltune install-profile"

static const struct cli_page page = {
    COMMAND,
    "nccltune install-profile PROFILE [OPTION]...\n"
    "       nccltune install-profile --previous | --uninstall [--purge] [OPTION]...\n"
    "Make a profile what jobs get: copied into a store, scheduled for the Slurm hooks, and in NCCL's own file.\n",
    "Examples\n"
    "  nccltune install-profile profile\n"
    "  nccltune install-profile profile --store /shared/nccltune --partition debug\n"
    "  nccltune install-profile --previous\n"
    "\n"
    "Exit status: 0 done; 1 not a whole profile, or something cannot be written; 2 wrong usage.\n",
    1};

struct request {
    struct install_site site;
    struct install_scope scope;
    const char *profile;
    int no_nccl_conf, previous, uninstall, purge;
};

static int take_delay(const struct option_value *v, void *out, struct err *e)
{
    double seconds = 0;
    int rc = unit_parse_seconds(v->text, &seconds, v->what, e);
    *(long *)out = (long)seconds;
    return rc;
}

static const struct option_spec options[] = {
    {0, "store", "DIR", "where profiles are kept, on every node or shared; " INSTALL_STORE, option_text,
     offsetof(struct request, site.store)},
    {0, "nccl-conf", "FILE", "NCCL's file, merged between marker lines; " INSTALL_NCCL_CONF, option_text,
     offsetof(struct request, site.nccl_conf)},
    {0, "no-nccl-conf", NULL, "leave NCCL's file alone", option_flag, offsetof(struct request, no_nccl_conf)},
    {0, "plugin", "FILE", "where " LOCATE_PLUGIN " is; that of this installation", option_text,
     offsetof(struct request, site.plugin)},
    {0, "partition", "NAME", "only for jobs of this Slurm partition (a canary); NCCL's file stays", option_text,
     offsetof(struct request, scope.partition)},
    {0, "hosts", "LIST", "only for jobs whose nodes are all in this list, such as n[1-4]", option_text,
     offsetof(struct request, scope.nodes)},
    {0, "delay", "TIME",
     "from so long from now on; with a store on every node give it the time that reaching all of them takes, and all "
     "nodes change at one moment",
     take_delay, offsetof(struct request, scope.delay_s)},
    {0, "previous", NULL, "back to the profile before this one; once more is forth again", option_flag,
     offsetof(struct request, previous)},
    {0, "uninstall", NULL, "take schedule, links and lines away; jobs that run keep their profile", option_flag,
     offsetof(struct request, uninstall)},
    {0, "purge", NULL, "with --uninstall: the profiles too", option_flag, offsetof(struct request, purge)},
    {0, "nodes", .instead = "hosts"},
    {0},
};

static int is_absolute(const char *path)
{
    return path && *path == '/';
}

/* What goes together, and what is to be done; -1 to go on. */
static int check(struct request *r, char **words)
{
    if (r->previous + r->uninstall + (*words != NULL) != 1)
        return cli_usage(COMMAND, *words ? "PROFILE, --previous and --uninstall are mutually exclusive"
                                         : "expected a PROFILE, --previous or --uninstall");
    if (r->purge && !r->uninstall)
        return cli_usage(COMMAND, "--purge belongs to --uninstall");
    if (r->scope.partition && r->scope.nodes)
        return cli_usage(COMMAND, "--partition and --hosts are mutually exclusive");
    if ((r->scope.partition || r->scope.nodes) && !*words)
        return cli_usage(COMMAND, "--partition and --hosts go with a PROFILE");
    if (!is_absolute(r->site.store) || !is_absolute(r->site.plugin))
        return cli_usage(COMMAND, "--store and --plugin: expected absolute paths");
    if (r->no_nccl_conf)
        r->site.nccl_conf = NULL;
    r->profile = *words;
    return -1;
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

static int run(const struct request *r, struct err *e)
{
    struct install_done done = {0};
    int rc = r->uninstall  ? install_remove(&r->site, r->purge, e)
             : r->previous ? install_previous(&r->site, &done, e)
                           : install_profile(&r->site, r->profile, &r->scope, &done, e);
    if (!rc && !r->uninstall)
        print_done(r, &done);
    install_done_free(&done);
    return rc;
}

int install_profile_main(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct request r = {
        .site = {.store = INSTALL_STORE, .nccl_conf = INSTALL_NCCL_CONF, .plugin = locate_expected(LOCATE_PLUGIN, a)}};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    struct err e = {0};
    int first, rc = cli_parse(&page, groups, argc, argv, a, &first);
    if (rc < 0)
        rc = check(&r, argv + first);
    if (rc < 0)
        rc = run(&r, &e) ? cli_fail(COMMAND, &e) : 0;
    arena_free(a);
    return rc;
}
