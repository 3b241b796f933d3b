/* nccltune report: a profile as one page. */
#include "envgen/report/report.h"

#include <string.h>

#include "cli/cli.h"
#include "core/json.h"

#define COMMAND "nccltune report"

static const struct cli_page page = {
    COMMAND,
    "nccltune report PROFILE [-o FILE]\n"
    "Write what was found, measured and decided, and why, as one HTML page that needs no other file and no network.\n",
    "Examples\n"
    "  nccltune report profile                         write profile/report.html again\n"
    "  nccltune report profile -o /tmp/cluster.html\n"
    "\n"
    "Exit status: 0 done, 1 the profile is incomplete, was changed or cannot be read, 2 wrong usage.\n",
    1};

struct request {
    const char *out;
    int json;
};

static const struct option_spec options[] = {
    {'o', "output", "FILE", "output file; - is standard output; default: " ENV_REPORT " in PROFILE", option_text,
     offsetof(struct request, out)},
    {'j', "json", NULL, "print the file's name and the profile's hash as JSON", option_flag,
     offsetof(struct request, json)},
    {0},
};

static int write_report(void *request, char **words, struct arena *a, struct err *e)
{
    const struct request *r = request;
    if (!*words)
        return err_set(e, ERR_USAGE, "PROFILE is missing");
    if (r->json && r->out && !strcmp(r->out, "-"))
        return err_set(e, ERR_USAGE, "--json and -o - are mutually exclusive");
    struct env_profile *p = env_profile_open(*words, e);
    int rc = p ? env_report_save(p, r->out, e) : e->code;
    const char *path = p && !r->out ? arena_printf(a, "%s/" ENV_REPORT, p->dir) : r->out;
    if (!rc && !r->json && strcmp(path, "-") != 0)
        printf("%s\n", path);
    if (p && !rc && r->json) {
        cJSON *doc = cJSON_CreateObject();
        json_add_str(doc, "report", path);
        json_add_str(doc, "hash", p->manifest.hash);
        rc = json_save(doc, NULL, e);
    }
    env_profile_free(p);
    return rc;
}

int report_main(int argc, char **argv)
{
    struct request r = {0};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, write_report, &r);
}
