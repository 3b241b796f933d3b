/* OpenMPI's settings: openmpi-mca-params.conf and openmpi.sh.
 *
 * The parameter file takes "name = value" and '#' lines (opal/util/keyval in OpenMPI 4.1). It expands nothing, so the
 * rules file is named by its absolute path; openmpi.sh finds it beside itself. */
#include <string.h>

#include "core/delivered.h"
#include "core/vars/text.h"
#include "envgen/write/write_internal.h"

#define RULES "openmpi.rules"

/* Pairs of which OpenMPI accepts only one: ours steps back when the user has set the other. */
static const struct {
    const char *name, *rival;
} rivals[] = {
    {"btl_tcp_if_include", "btl_tcp_if_exclude"},
    {"btl_tcp_if_exclude", "btl_tcp_if_include"},
};

static int write_set(const struct env_writing *w, FILE *out, env_print_setting *print, struct err *e)
{
    return env_write_each(w, out, BENCH_FAMILY_OPENMPI, ENV_SET, print, e);
}

static int write_not_set(const struct env_writing *w, FILE *out)
{
    return env_write_each(w, out, BENCH_FAMILY_OPENMPI, ENV_NOT_SET, NULL, NULL);
}

static void print_parameter(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    if (!s->in_profile)
        fprintf(out, "%s = %s\n", s->name, s->value);
    else if (env_path_ok(w->dir))
        fprintf(out, "%s = %s/%s\n", s->name, w->dir, s->value);
    else
        env_print_comment(out, w->scratch, "#",
                          "Not set here: the path of this directory cannot be written into this file. openmpi.sh sets "
                          "it.");
}

static int write_conf(const struct env_writing *w, FILE *out, struct err *e)
{
    env_write_heading(w, out,
                      "OpenMPI parameters. Use: mpirun --tune FILE, or source openmpi.sh instead. (Named by "
                      "OMPI_MCA_mca_base_param_files it would replace the site's own parameter files.)");
    env_print_comment(out, w->scratch, "#", BENCH_HOST_MEMORY);
    int rc = write_set(w, out, print_parameter, e);
    return rc ? rc : write_not_set(w, out);
}

static int needs_directory(const struct env_decisions *d)
{
    for (int i = 0; i < d->nsettings; i++)
        if (d->settings[i].in_profile && d->settings[i].value)
            return 1;
    return 0;
}

/* The directory of the profile in $nccltune_dir: where this script lies when the shell is bash, which alone can tell,
 * else where it was written. */
static int print_directory(const struct env_writing *w, FILE *out, struct err *e)
{
    const char *quoted = env_shell_quote(w->scratch, w->dir);
    if (!quoted)
        return err_set(e, ERR_FAILED, "%s: a path with control characters cannot be written into a shell script",
                       w->dir);
    fprintf(out,
            "\n# Where this profile is: beside this script (bash), else where it was written.\n"
            "nccltune_dir=%s\n"
            "if [ -n \"${BASH_SOURCE:-}\" ]; then\n"
            "    nccltune_dir=$(CDPATH='' cd -- \"$(dirname -- \"${BASH_SOURCE}\")\" && pwd) || :\n"
            "fi\n",
            quoted);
    return 0;
}

static void print_export(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    (void)w;
    fprintf(out, "if [ \"${NCCLTUNE:-}\" != off ] && [ -z \"${OMPI_MCA_%s+set}", s->name);
    for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++)
        if (!strcmp(s->name, rivals[i].name))
            fprintf(out, "${OMPI_MCA_%s+set}", rivals[i].rival);
    fputs("\" ]", out);
    if (s->in_profile)
        fprintf(out, " &&\n    [ -r \"$nccltune_dir/%s\" ]", s->value);
    fputs("; then\n", out);
    if (s->in_profile)
        fprintf(out, "    export OMPI_MCA_%s=\"$nccltune_dir/%s\"\n", s->name, s->value);
    else
        fprintf(out, "    export OMPI_MCA_%s='%s'\n", s->name, s->value);
    fprintf(out, "    export " DELIVERED_SOURCED "=\"${" DELIVERED_SOURCED ":-}|OMPI_MCA_%s=$OMPI_MCA_%s\"\nfi\n",
            s->name, s->name);
}

static int write_sh(const struct env_writing *w, FILE *out, struct err *e)
{
    env_write_heading(w, out,
                      "OpenMPI settings for a shell. Use: source this file before mpirun. What is set already stays; "
                      "NCCLTUNE=off leaves everything alone.");
    env_print_comment(out, w->scratch, "#", BENCH_HOST_MEMORY);
    int rc = needs_directory(w->decisions) ? print_directory(w, out, e) : 0;
    if (!rc)
        rc = write_set(w, out, print_export, e);
    if (!rc && needs_directory(w->decisions))
        fputs("unset nccltune_dir\n", out);
    return rc ? rc : write_not_set(w, out);
}

/* ---- OpenMPI rules file
 * -----------------------------------------------------------------------------------------------
 */

static void print_own_choice(FILE *out, int ranks, const char *who)
{
    fprintf(out, "%d 1 # communicators of %s: OpenMPI's own choice\n0 0 0 0\n", ranks, who);
}

static void print_set(FILE *out, const struct env_rule_set *set)
{
    fprintf(out, "%d %d # communicators of %d ranks\n", set->ranks, set->nrules, set->ranks);
    for (int i = 0; i < set->nrules; i++)
        fprintf(out, "%llu %ld %ld %ld%s\n", (unsigned long long)set->rules[i].min_bytes, set->rules[i].algorithm,
                set->rules[i].fanout, set->rules[i].segment_bytes,
                set->rules[i].algorithm ? "" : " # OpenMPI's own choice");
}

static void print_coll(FILE *out, const struct env_rule_coll *c)
{
    int entries = 1;
    for (int i = 0; i < c->nsets; i++)
        entries += 1 + !(i + 1 < c->nsets && c->sets[i + 1].ranks == c->sets[i].ranks + 1);
    fprintf(out, "\n%d # %s\n%d # communicator sizes\n", c->id, c->name, entries);
    print_own_choice(out, 0, "any smaller size");
    for (int i = 0; i < c->nsets; i++) {
        print_set(out, &c->sets[i]);
        if (!(i + 1 < c->nsets && c->sets[i + 1].ranks == c->sets[i].ranks + 1))
            print_own_choice(out, c->sets[i].ranks + 1, "sizes that were not measured");
    }
}

static int write_rules(const struct env_writing *w, FILE *out, struct err *e)
{
    (void)e;
    env_write_heading(w, out, "OpenMPI's dynamic rules (coll_tuned_dynamic_rules_filename).");
    env_print_comment(out, w->scratch, "#", BENCH_HOST_MEMORY);
    for (int i = 0; i < w->decisions->nshapes; i++)
        if (!strcmp(bench_family_of(w->decisions->shapes[i].engine), BENCH_FAMILY_OPENMPI))
            env_print_comment(out, w->scratch, "#",
                              arena_printf(w->scratch, "Measured with %s on %d nodes, %d ranks.",
                                           w->decisions->shapes[i].library, w->decisions->shapes[i].nodes,
                                           w->decisions->shapes[i].ranks));
    env_print_comment(out, w->scratch, "#", ENV_NON_COMMUTATIVE);
    env_print_comment(out, w->scratch, "#",
                      "A rule line: smallest message in bytes, algorithm (0: OpenMPI's own choice), fan-out, segment "
                      "size in bytes.");
    fprintf(out, "\n%d # collectives with rules\n", w->rules->ncolls);
    for (int i = 0; i < w->rules->ncolls; i++)
        print_coll(out, &w->rules->colls[i]);
    return 0;
}

const struct env_writer env_writers_openmpi[] = {
    {"openmpi-mca-params.conf", write_conf},
    {"openmpi.rules", write_rules},
    {"openmpi.sh", write_sh},
    {NULL},
};
