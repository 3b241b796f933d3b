/* nccltune install-profile: a profile becomes what jobs on this machine or cluster get. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/launch/launch.h"
#include "cli/cli.h"
#include "cli/nodes.h"
#include "core/hostlist.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/install/install.h"
#include "envgen/profile/profile.h"
#include "slurm/hook.h"

#define COMMAND "nccltune install-profile"

static const struct cli_page page = {
    COMMAND,
    "nccltune install-profile PROFILE [OPTION]...\n"
    "       nccltune install-profile [PROFILE] --serve LIST [OPTION]...\n"
    "       nccltune install-profile --previous | --uninstall [--purge] [OPTION]...\n"
    "Deploy a profile to jobs: copy it into a store and schedule it for the Slurm hooks, or without hooks write it\n"
    "into NCCL's own file.\n",
    "Examples\n"
    "  nccltune install-profile profile --store /shared/nccltune\n"
    "  nccltune install-profile profile --store /shared/nccltune --partition debug\n"
    "  nccltune install-profile profile --hosts n[1-64]\n"
    "  nccltune install-profile profile --no-hooks\n"
    "  nccltune install-profile profile --trial ring --share 50%\n"
    "  nccltune install-profile --serve n[65-128]    more nodes for the installed one, without measuring\n"
    "  nccltune install-profile --previous\n"
    "\n"
    "Exit status: 0 done; 1 the profile is incomplete, something cannot be written or is in use, or a node is not\n"
    "served, no job gets it (not active; --hosts does not look at that); 2 wrong usage.\n",
    1};

struct request {
    struct install_site site;
    struct install_scope scope;
    const char *profile, *serve, *hosts, *agent, *program, *set, *finish, *unset;
    long delay_s;
    int no_nccl_conf, no_hooks, previous, uninstall, purge, force, stage, json;
    long long since;
    double share;
};

static int take_delay(const struct option_value *v, void *out, struct err *e)
{
    double seconds = 0;
    int rc = unit_parse_seconds(v->text, &seconds, v->what, e);
    *(long *)out = (long)seconds;
    return rc;
}

static int take_since(const struct option_value *v, void *out, struct err *e)
{
    char *end;
    *(long long *)out = strtoll(v->text, &end, 10);
    return *end || *(long long *)out < 0 ? err_set(e, ERR_USAGE, "%s: expected seconds since 1970", v->what) : 0;
}

#define AT(member) offsetof(struct request, member)
static const struct option_spec options[] = {
    {0, "store", "DIR", "directory of the profiles, on every node or shared; default: " INSTALL_STORE, option_text,
     AT(site.store)},
    {0, "hosts", "LIST",
     "install on these nodes, n[1-64], through ssh: all get the profile, then all switch at one moment, or none",
     option_text, AT(hosts)},
    {0, "ssh", "COMMAND", "command that reaches a host (default: ssh -o BatchMode=yes)", option_text, AT(agent)},
    {0, "program", "FILE", "nccltune on the hosts (default: this path)", option_text, AT(program)},
    {0, "serve", "LIST",
     "serve these nodes too, without measuring: each probes itself and joins the class that it equals; partition=NAME: "
     "all nodes of a Slurm partition; without PROFILE, the installed one",
     option_text, AT(serve)},
    {0, "partition", "NAME", "only jobs of this Slurm partition (a canary)", option_text, AT(scope.partition)},
    {0, "jobs-on", "LIST", "only jobs whose nodes are all in this list", option_text, AT(scope.nodes)},
    {0, "trial", "NAME",
     "only a share of these jobs, by their numbers, for comparison with the others: nccltune trials", option_text,
     AT(scope.trial)},
    {0, "share", "PERCENT", "share of a trial's jobs, a whole number (default: 50%)", option_percent, AT(share),
     .low = 1, .high = 99},
    {0, "jobs", "COUNT", "jobs of both groups after which a trial is judged for good (default: 40)", option_int,
     AT(scope.jobs), .low = 8, .high = HOOK_TRIAL_JOBS},
    {0, "delay", "TIME",
     "start after this time: at least what a shared file system takes to show a change on all nodes", take_delay,
     AT(delay_s)},
    {0, "no-hooks", NULL, "for sites without Slurm hooks: NCCL's file gets settings and table, after --delay",
     option_flag, AT(no_hooks)},
    {0, "nccl-conf", "FILE",
     "NCCL's file, merged between marker lines; default: " INSTALL_NCCL_CONF
     "; without --no-hooks it gets only this node's own settings",
     option_text, AT(site.nccl_conf)},
    {0, "no-nccl-conf", NULL, "leave NCCL's file unchanged, including lines of an earlier installation", option_flag,
     AT(no_nccl_conf)},
    {0, "cdi", "DIR",
     "containers: write this node's CDI spec into DIR, such as /etc/cdi; a container asks for --device "
     "nccltune.org/profile=node",
     option_text, AT(site.cdi)},
    {0, "enroot", "DIR",
     "containers: write this node's environ.d and mounts.d of enroot (Pyxis) into DIR, such as /etc/enroot",
     option_text, AT(site.enroot)},
    {0, "apptainer", "DIR",
     "containers: write this node's bind paths and nccltune.env into DIR, such as /etc/apptainer", option_text,
     AT(site.apptainer)},
    {0, "node", "NAME", "this node's name in the profile, for example in a pod (default: its host name)", option_text,
     AT(site.node)},
    {0, "plugin", "FILE", "where " LOCATE_PLUGIN " is; default: that of this installation", option_text,
     AT(site.plugin)},
    {0, "previous", NULL, "roll back to the previous profile; again: roll forward", option_flag, AT(previous)},
    {0, "uninstall", NULL, "jobs that start from now on get nothing; running jobs keep their profile", option_flag,
     AT(uninstall)},
    {0, "purge", NULL, "with --uninstall: remove the profiles too, unless running jobs have one", option_flag,
     AT(purge)},
    {0, "force", NULL, "install a profile without measurements; with --purge: remove even profiles in use", option_flag,
     AT(force)},
    {'j', "json", NULL, "print what was done as JSON", option_flag, AT(json)},
    {0, "stage", NULL,
     "a step of --hosts on each node, like the next four: copy into the store; PROFILE may be -, a bundle", option_flag,
     AT(stage)},
    {0, "schedule", "HASH", "schedule a profile of the store for jobs that start at --since or later", option_text,
     AT(set)},
    {0, "unschedule", "HASH", "undo --schedule", option_text, AT(unset)},
    {0, "finish", "HASH", "at --since: set links and NCCL's file", option_text, AT(finish)},
    {0, "since", "SECONDS", "since 1970", take_since, AT(since)},
    {0},
};

/* Jobs start elsewhere. */
static const char *absolute(struct arena *a, const char *path)
{
    char here[PATH_MAX];
    return !path || *path == '/' || !getcwd(here, sizeof here) ? path : arena_printf(a, "%s/%s", here, path);
}

/* What goes together, and what is to be done. */
static int check_request(struct request *r, char **words, struct err *e)
{
    const int parts = (r->set != NULL) + (r->unset != NULL) + (r->finish != NULL);
    const int given = *words || r->serve, asked = r->previous + r->uninstall + parts + given;
    const int limited = r->scope.partition || r->scope.nodes,
              containers = r->site.cdi || r->site.enroot || r->site.apptainer;
    const struct cli_wrong wrong[] = {
        {r->purge && !r->uninstall, "--purge goes with --uninstall"},
        {asked != 1 && given, "PROFILE or --serve, --previous and --uninstall are mutually exclusive"},
        {asked != 1, "expected a PROFILE, --serve, --previous or --uninstall"},
        {r->force && !r->purge && !*words, "--force belongs to --purge, or to a PROFILE"},
        {r->scope.partition && r->scope.nodes, "--partition and --jobs-on are mutually exclusive"},
        {limited && !given && !r->set, "--partition and --jobs-on need a PROFILE"},
        {r->scope.trial && (!given || r->no_hooks || r->hosts),
         "--trial needs a PROFILE, Slurm's hooks and a store that all nodes share: not with --hosts or --no-hooks"},
        {(r->share > 0 || r->scope.jobs) && !r->scope.trial, "--share and --jobs belong to --trial"},
        {r->hosts && !given, "--hosts needs a PROFILE"},
        {containers && (r->hosts || !install_is_for_all(&r->scope)),
         "--cdi, --enroot and --apptainer are for this node and all jobs: not with --hosts or a scope"},
        {0},
    };
    r->profile = *words;
    if (cli_check(wrong, e))
        return e->code;
    r->scope.share = r->share > 0 ? (int)(100 * r->share + 0.5) : 50;
    r->scope.jobs = r->scope.jobs ? r->scope.jobs : 40;
    return 0;
}

/* What NCCL's file gets, and which plugin: the one given, else that of the present installation. */
static void settle_site(struct request *r, struct arena *a)
{
    int asked = r->site.nccl_conf != NULL;
    if (!r->site.nccl_conf)
        r->site.nccl_conf = INSTALL_NCCL_CONF;
    if (!r->site.plugin)
        r->site.plugin = install_plugin_before(r->site.nccl_conf, a);
    if (!r->site.plugin)
        r->site.plugin = locate_expected(LOCATE_PLUGIN, a);
    r->site.conf = r->no_hooks ? INSTALL_CONF_ALL : asked ? INSTALL_CONF_NODE : INSTALL_CONF_NOTHING;
    if (r->no_nccl_conf)
        r->site.nccl_conf = NULL;
}

static void print_who(const struct request *w)
{
    char when[64];
    const time_t since = (time_t)w->scope.since;
    if (w->scope.trial)
        printf("trial %s: %d %% of the ", w->scope.trial, w->scope.share);
    if (w->scope.partition)
        printf("jobs of partition %s", w->scope.partition);
    else if (w->scope.nodes)
        printf("jobs inside %s", w->scope.nodes);
    else
        printf("jobs");
    strftime(when, sizeof when, "%F %T", localtime(&since));
    printf(" that start at %s or later get it through the Slurm hooks\n", when);
}

/* Whether a job can get it, as far as this host can tell: through hooks, NCCL's file, or what containers read. */
static int is_active(const struct request *w, const struct install_done *d, const struct install_hooks *h)
{
    return (w->no_hooks ? d->by_conf : h->serve) || w->site.cdi || w->site.enroot || w->site.apptainer;
}

/* Why jobs outside containers do not get it, and what would help. */
static const char *why_inactive(const struct request *w, const struct install_done *d, const struct install_hooks *h)
{
    if (!w->no_hooks)
        return arena_printf(d->arena, "%s; set up the hooks (nccltune-hook(8)), or use --no-hooks for NCCL's own file",
                            h->missing);
    if (!w->site.nccl_conf)
        return "--no-hooks and --no-nccl-conf leave no way to them; leave out one of the two";
    return d->node_class ? "it sets nothing for NCCL on this host"
                         : "this host is not in the profile; install it on the hosts that it is for";
}

/* What each way of delivery does, as far as this host can tell. */
static void print_delivery(const struct request *w, const struct install_done *d, const struct install_hooks *h)
{
    if (w->no_hooks && d->by_conf)
        printf("without Slurm hooks NCCL's file delivers it\n");
    else if (w->no_hooks && w->site.nccl_conf)
        printf("no job of this host gets it: %s\n", why_inactive(w, d, h));
    else if (!w->no_hooks && h->serve)
        print_who(w);
    else
        printf("%s: %s\n", is_active(w, d, h) ? "only containers get it" : "not active: no job gets it",
               why_inactive(w, d, h));
    if (!w->no_hooks && h->serve && !strcmp(h->epilog, "(null)"))
        printf("Epilog is not set: files of ended jobs stay in /run/nccltune\n");
    if (!w->no_hooks && h->open)
        printf("warning: %s\n", h->open);
    printf("it is for %s; a job with any other host gets nothing\n", *d->hosts ? d->hosts : "no host");
    if (d->node_class)
        printf("this host is of class %s\n", d->node_class);
    else if (!w->no_hooks)
        printf("this host is not in the profile\n");
    if (!d->rules)
        puts(d->settings ? "its table has no rules: only its settings apply"
                         : "it has neither rules nor settings for NCCL: jobs keep NCCL's defaults");
    if (d->nccl_conf && d->node_class && (d->by_conf || !w->no_hooks))
        printf("%s %s\n", w->site.nccl_conf, d->nccl_conf);
    if (d->openmpi)
        printf("its OpenMPI settings are not installed: in a job, `. %s` sets them\n",
               env_shell_word(d->arena, arena_printf(d->arena, "%s/openmpi.sh", d->dir)));
}

static int print_json(const struct request *w, const struct install_done *d, const struct install_hooks *h,
                      struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "profile", d->dir);
    cJSON_AddBoolToObject(doc, "active", is_active(w, d, h));
    json_add_str(doc, "reason", is_active(w, d, h) ? NULL : why_inactive(w, d, h));
    json_add_str(doc, "hooks_missing", w->no_hooks ? NULL : h->missing);
    json_add_str(doc, "warning", w->no_hooks ? NULL : h->open);
    cJSON_AddNumberToObject(doc, "since", (double)w->scope.since);
    json_add_str(doc, "partition", w->scope.partition);
    json_add_str(doc, "jobs_on", w->scope.nodes);
    json_add_str(doc, "trial", w->scope.trial);
    json_add_str(doc, "hosts", d->hosts);
    json_add_str(doc, "class", d->node_class);
    cJSON_AddBoolToObject(doc, "rules", d->rules);
    json_add_str(doc, "nccl_conf", d->nccl_conf ? w->site.nccl_conf : NULL);
    return json_save(doc, NULL, e);
}

/* Error without a sentence, as it is printed: no job gets it. */
static int print_done(const struct request *w, const struct install_done *d, struct err *e)
{
    struct install_hooks hooks;
    int rc = 0;
    install_find_hooks(d->arena, &hooks);
    if (w->json)
        rc = print_json(w, d, &hooks, e);
    else {
        printf("installed in %s\n", d->dir);
        print_delivery(w, d, &hooks);
        if (d->rules)
            printf("in a container or without Slurm: mount both read-only, and set (commands: doc/CONTAINERS.md of the "
                   "sources)\n"
                   "  NCCL_TUNER_PLUGIN=%s\n  NCCLTUNE_PROFILE=%s\n",
                   env_shell_word(d->arena, w->site.plugin), env_shell_word(d->arena, d->dir));
    }
    return rc ? rc : is_active(w, d, &hooks) ? 0 : ERR_FAILED;
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

/* Jobs begin at whole seconds, and a change must be on disk before the second that it names. */
#define LEAD_S      2
#define HOSTS_S     30 /* the usual for many hosts */
#define PATIENCE_S  60
#define MOST_WAIT_S 5 /* for hooks nobody has to wait */

static void wait_until(long long since)
{
    while ((long long)time(NULL) < since)
        usleep(50000);
}

/* Where NCCL's file delivers, the moment is when it is written. */
static int finish_install(const struct request *r, struct install_done *done, struct err *e)
{
    if (r->no_hooks && r->delay_s > MOST_WAIT_S)
        fprintf(stderr, COMMAND ": all is in place; waiting %ld s for the switch\n", r->delay_s);
    if (r->no_hooks || r->delay_s <= MOST_WAIT_S)
        wait_until(r->scope.since);
    return install_is_for_all(&r->scope) ? install_switch(&r->site, done, e) : 0;
}

static int run_here(struct request *r, struct err *e)
{
    struct install_done done = {0};
    r->scope.since = (long long)time(NULL) + (r->delay_s > LEAD_S ? r->delay_s : LEAD_S);
    r->scope.later = 1;
    int rc = r->previous ? install_previous(&r->site, &r->scope, &done, e)
                         : install_profile(&r->site, r->profile, &r->scope, &done, e);
    if (!rc)
        rc = finish_install(r, &done, e);
    if (!rc)
        rc = print_done(r, &done, e);
    return rc;
}

static int remove_all(const struct request *r, struct arena *a, struct err *e)
{
    const char *jobs = "";
    struct install_hooks hooks;
    int rc = r->purge && !r->force && !r->no_hooks ? install_running_jobs(&r->site, a, &jobs, e) : 0;
    if (rc)
        return rc;
    if (*jobs)
        return err_set(e, ERR_FAILED,
                       "jobs %.200s run with a profile of this store: use --uninstall without --purge, or --force",
                       jobs);
    install_find_hooks(a, &hooks);
    /* A mount of a profile that is gone would keep every container from starting. */
    struct install_site site = r->site;
    site.cdi = site.cdi ? site.cdi : "/etc/cdi";
    site.enroot = site.enroot ? site.enroot : "/etc/enroot";
    site.apptainer = site.apptainer ? site.apptainer : "/etc/apptainer";
    const int was_there = !access(site.store, F_OK);
    rc = install_remove(&site, r->purge, hooks.serve, e);
    if (!rc && !was_there)
        return err_set(e, ERR_FAILED, "%s: there is no such store; NCCL's file and container files have no profile now",
                       site.store);
    if (!rc && r->json) {
        cJSON *doc = cJSON_CreateObject();
        json_add_str(doc, "uninstalled", r->site.store);
        cJSON_AddBoolToObject(doc, "purged", r->purge);
        return json_save(doc, NULL, e);
    }
    if (!rc)
        printf("uninstalled: jobs that start from now on get nothing from %s%s\n", r->site.store,
               r->purge ? ", whose profiles are removed; whether a process still has them open was not checked"
                        : "; its profiles stay until --purge");
    return rc;
}

/* ---- on many nodes ----------------------------------------------------------------------------------------------- */

struct spread {
    const struct request *r;
    struct install_hosts hosts;
    struct install_answer *answers;
    struct arena *a;
    char hash[SHA256_HEX];
};

/* One step on all hosts: those that failed are named. */
static int run_step(const struct spread *s, const char *what, const char *value, const char *bundle, long long since)
{
    const struct request *r = s->r;
    const int schedules = !strcmp(what, "--schedule");
    const char *const pairs[][2] = {{what, value},
                                    {"--store", r->site.store},
                                    {"--since", since ? arena_printf(s->a, "%lld", since) : NULL},
                                    {"--plugin", bundle ? r->site.plugin : NULL},
                                    {"--partition", schedules ? r->scope.partition : NULL},
                                    {"--jobs-on", schedules ? r->scope.nodes : NULL}};
    struct words words = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1])
            words_add_all(&words, s->a, (const char *const[]){pairs[i][0], pairs[i][1], NULL});
    if (!strcmp(what, "--finish") && r->no_hooks)
        words_add(&words, s->a, "--no-hooks");
    int failed = install_on_hosts(&s->hosts, words.items, bundle, s->a, s->answers);
    for (int i = 0; i < s->hosts.nhosts; i++)
        if (s->answers[i].failed)
            fprintf(stderr, COMMAND ": %s: %s\n", s->answers[i].host, s->answers[i].text);
    return failed;
}

/* All have the profile, then all have the line of the schedule, before the moment that it names; or nobody keeps it. */
static int spread_all(struct spread *s, const char *bundle, struct err *e)
{
    int failed = run_step(s, "--stage", "-", bundle, 0), n = s->hosts.nhosts;
    if (failed)
        return err_set(e, ERR_FAILED, "%d of %d hosts could not take the profile; nothing has changed", failed, n);
    long delay_s = !s->r->delay_s ? HOSTS_S : s->r->delay_s > LEAD_S ? s->r->delay_s : LEAD_S;
    long long since = (long long)time(NULL) + delay_s;
    s->hosts.patience_s = (double)delay_s / 2;
    failed = run_step(s, "--schedule", s->hash, NULL, since);
    if (failed || (long long)time(NULL) >= since) {
        int kept = run_step(s, "--unschedule", s->hash, NULL, since);
        return err_set(e, ERR_FAILED, "%d of %d hosts could not schedule it%s", failed, n,
                       kept ? "; those named last may still have the line: see their schedule"
                            : "; nothing has changed");
    }
    s->hosts.patience_s = PATIENCE_S + (double)(since - (long long)time(NULL));
    failed = install_is_for_all(&s->r->scope) ? run_step(s, "--finish", s->hash, NULL, since) : 0;
    if (failed)
        return err_set(e, ERR_FAILED, "all hosts have it; %d of %d could not set links or NCCL's file", failed, n);
    if (s->r->json) {
        cJSON *doc = cJSON_CreateObject();
        json_add_str(doc, "hash", s->hash);
        cJSON_AddNumberToObject(doc, "nhosts", n);
        return json_save(doc, NULL, e);
    }
    printf("%d hosts have %.12s\n", n, s->hash);
    return 0;
}

static int run_on_hosts(const struct request *r, struct arena *a, struct err *e)
{
    struct spread s = {.r = r, .a = a};
    const char **hosts, *own = locate_self_dir(a);
    s.hosts = (struct install_hosts){.agent = r->agent ? r->agent : "ssh -o BatchMode=yes",
                                     .program = r->program ? r->program
                                                : own      ? arena_printf(a, "%s/nccltune", own)
                                                           : "nccltune",
                                     .patience_s = PATIENCE_S,
                                     .parallel = 64};
    struct env_profile *p = env_profile_open(r->profile, e);
    if (!p || hostlist_parse(r->hosts, "--hosts", a, &hosts, &s.hosts.nhosts, e)) {
        env_profile_free(p);
        return e->code;
    }
    memcpy(s.hash, p->manifest.hash, sizeof s.hash);
    env_profile_free(p);
    s.hosts.hosts = hosts;
    s.answers = arena_alloc(a, (size_t)s.hosts.nhosts * sizeof *s.answers);
    /* Without a name, so that nothing is left whatever ends us. */
    int fd = memfd_create("bundle", MFD_CLOEXEC), rc = fd < 0 ? err_errno(e, "the bundle cannot be made") : 0;
    const char *bundle = arena_printf(a, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (!rc)
        rc = install_pack(r->profile, bundle, e);
    if (!rc)
        rc = spread_all(&s, bundle, e);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* A node's part of it. */
static int run_part(struct request *r, struct arena *a, struct err *e)
{
    struct install_done done = {.arena = NULL};
    const char *profile = r->profile, *unpacked = NULL;
    int rc = 0;
    r->scope.since = r->since;
    r->scope.later = 1;
    if (r->unset)
        return install_unschedule(&r->site, r->unset, r->since, e);
    if (r->stage && !strcmp(profile, "-"))
        rc = install_unpack("-", "/tmp", a, &unpacked, e);
    if (!rc && r->stage)
        rc = install_profile(&r->site, unpacked ? unpacked : profile, NULL, &done, e);
    else if (!rc)
        rc = install_stored(&r->site, r->set ? r->set : r->finish, r->set ? &r->scope : NULL, &done, e);
    if (!rc && r->finish) {
        wait_until(r->since);
        rc = install_switch(&r->site, &done, e);
    }
    if (unpacked)
        install_remove_directory(unpacked);
    if (!rc)
        printf("%s\n", done.dir);
    return rc;
}

/* Ask the nodes of --serve, which were not measured, what they are, and make in `made` a profile that knows them.
 * Nothing is written where nobody joins and nobody has to go. Counts in `left` those that are not served, which are
 * named. */
static int extend_profile(const struct request *r, const char *made, int *left, struct arena *a, struct err *e)
{
    const struct bench_setup reach = {.ssh = r->agent};
    struct log log = cli_log(COMMAND, 0);
    struct cli_nodes nodes;
    struct cluster_served served = {0};
    int rc = cli_nodes_served(r->serve, a, &nodes, e);
    struct topology *probed = rc ? NULL : cli_nodes_ask(&reach, &nodes, cli_catch_interrupt(), e);
    rc = probed ? install_extend(r->site.store, r->profile, probed, made, &served, a, e) : e->code;
    for (int i = 0; !rc && i < served.out.n; i++)
        log_warn(&log, "%s is not served: %s", served.out.list[i].name, served.out.list[i].why);
    if (!rc)
        log_info(&log, "%d of %d nodes equal a class of the profile", served.joined, nodes.n);
    *left = rc ? 0 : served.out.n;
    topo_free(probed);
    return rc;
}

/* What is installed is then the profile that knows more nodes. ERR_FAILED without a sentence: some are not served. */
static int run_served(struct request *r, struct arena *a, struct err *e)
{
    char made[] = "/tmp/nccltune-serve-XXXXXX";
    const char *profile = r->profile;
    int left;
    volatile const sig_atomic_t *stop = cli_catch_interrupt();
    if (!mkdtemp(made))
        return err_errno(e, "%s: cannot be made", made);
    int rc = extend_profile(r, made, &left, a, e);
    if (!rc && *stop)
        rc = err_set(e, ERR_FAILED, "interrupted; nothing has changed");
    r->profile = made;
    if (!rc && env_profile_complete(made))
        rc = r->hosts ? run_on_hosts(r, a, e) : run_here(r, e);
    install_remove_directory(made);
    r->profile = profile;
    return rc ? rc : left ? ERR_FAILED : 0;
}

/* Refuses what is no profile, and what tune leaves where it could measure nothing: nobody who installs it means that. A
 * damaged profile is left to who installs it. */
static int check_measured(const char *profile, struct err *e)
{
    struct err why = {0};
    struct env_profile *p = env_profile_open(profile, &why);
    int measured = !p, rc = 0;
    if (!p && !env_profile_complete(profile)) {
        *e = why;
        return e->code;
    }
    for (int i = 0; p && i < p->decisions->nshapes; i++)
        measured |= bench_evidence_of(p->decisions->shapes[i].engine) < BENCH_PREDICTED;
    for (int i = 0; p && i < p->manifest.nfiles; i++)
        measured |= !strcmp(p->manifest.files[i].name, "fabric.json");
    if (!measured)
        rc = err_set(e, ERR_FAILED,
                     "%s: this profile has no measurements, only what the topology justifies: measure with nccltune "
                     "tune, or install it with --force",
                     profile);
    env_profile_free(p);
    return rc;
}

static int run_request(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    r->site.arena = a;
    r->site.store = absolute(a, r->site.store);
    r->site.plugin = absolute(a, r->site.plugin);
    if (check_request(r, words, e))
        return e->code;
    if (!r->hosts)
        settle_site(r, a);
    if (!r->stage && !r->force && r->profile && check_measured(r->profile, e))
        return e->code;
    if (r->serve)
        return run_served(r, a, e);
    if (r->stage || r->set || r->unset || r->finish)
        return run_part(r, a, e);
    if (r->uninstall)
        return remove_all(r, a, e);
    return r->hosts ? run_on_hosts(r, a, e) : run_here(r, e);
}

int install_profile_main(int argc, char **argv)
{
    struct request r = {.site = {.store = INSTALL_STORE}};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, run_request, &r);
}
