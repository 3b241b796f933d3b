/* Fuzzes the readers of a profile: the input is manifest.json when it names that format, else decisions.json. What
 * decisions.json gives is explained for people and for programs, and reported, and a step is estimated by it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advise/whatif/step.h"
#include "core/coll.h"
#include "core/json.h"
#include "envgen/explain/explain.h"
#include "envgen/profile/decisions.h"
#include "envgen/report/report.h"

static char dir[] = "/dev/shm/nccltune-fuzz-XXXXXX";

static void remove_files(void)
{
    char path[100];
    static const char *const names[] = {"manifest.json", "decisions.json"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

static int put(const char *name, const uint8_t *data, size_t bytes, char path[100])
{
    if (strstr(dir, "XXXXXX") && (!mkdtemp(dir) || atexit(remove_files)))
        abort();
    snprintf(path, 100, "%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ssize_t n = fd < 0 ? -1 : write(fd, data, bytes);
    return (fd >= 0 && close(fd)) || n != (ssize_t)bytes;
}

/* Calls that such a file is likely to have measured. Sums of what it says may be anything but no time. */
static void estimate_step(const struct env_profile *p, FILE *out)
{
    static const uint64_t sizes[] = {8, 65536, 1 << 20, 3 << 20, 1 << 30};
    struct workload *w = workload_new();
    struct workload_phase *phase = workload_add_phase(w, "step");
    struct step_estimate s;
    struct err e = {0};
    w->ranks = 4;
    for (int kind = 0; kind < COLL_MEASURED; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            workload_add_call(w, phase,
                              (struct workload_call){.kind = kind,
                                                     .bytes = sizes[i],
                                                     .count = 1,
                                                     .group_size = 4,
                                                     .place = WORKLOAD_CLUSTER,
                                                     .stride = 1,
                                                     .time_us = -1});
    const struct step_input in = {w, p->decisions, NULL};
    if (!env_step_of(&in, p->arena, &s, &e)) {
        if (!(s.now.all.us >= 0) || !(s.tuned.waits.us >= 0) || s.now.waits.us > s.now.all.us)
            __builtin_trap();
        env_step_print(&s, out);
        cJSON_Delete(env_step_json(&s));
    }
    workload_free(w);
}

static void explain_all(const char *path)
{
    struct err e = {0};
    struct env_profile p = {.arena = arena_new(), .dir = dir, .manifest = {.created = "", .tool = ""}};
    p.decisions = env_decisions_load(path, &e);
    static const struct env_question questions[] = {
        {.coll = -1},
        {.coll = -1, .variable = "btl_tcp_if_include"},
        {.coll = COLL_ALLREDUCE, .bytes = 65536},
        {.coll = COLL_BROADCAST, .bytes = 0, .nodes = 4, .ranks = 4},
    };
    FILE *out = fopen("/dev/null", "w");
    if (p.decisions && out)
        env_report_write(&p, out, &e);
    for (size_t i = 0; p.decisions && out && i < sizeof questions / sizeof *questions; i++) {
        env_explain(&p, &questions[i], out, &e);
        cJSON_Delete(env_explain_json(&p, &questions[i], &e));
    }
    if (p.decisions && out)
        estimate_step(&p, out);
    if (out)
        fclose(out);
    env_decisions_free(p.decisions);
    arena_free(p.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[100];
    if (bytes < 1)
        return 0;
    int manifest = memmem(data, bytes, "nccltune-manifest", 17) != NULL;
    if (put(manifest ? ENV_MANIFEST : "decisions.json", data, bytes, path))
        return 0;
    if (manifest) {
        struct env_manifest m;
        struct err e = {0};
        struct arena *a = arena_new();
        env_manifest_load(dir, a, &m, &e);
        arena_free(a);
    } else {
        explain_all(path);
    }
    return 0;
}
