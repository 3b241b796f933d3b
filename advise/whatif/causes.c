/* Faults that are usual, as variations of the machine under the job's settings. */
#include "advise/whatif/step.h"

#include <math.h>
#include <string.h>

#include "advise/whatif/whatif.h"
#include "core/json.h"
#include "core/units.h"

#define STAND_IN_BYTES (UINT64_C(256) << 20)
#define NEARLY_NONE    1.02 /* of the sound time: the fault is not felt */

/* The first HCA that the job uses: of its settings, else of the machine. */
static const char *first_hca(const struct whatif *w)
{
    const struct nccl_setup *s = &w->cases[0].setup.nccl;
    const struct topo_class *c = &s->topology->classes[s->class_index];
    for (int i = 0; i < c->nports; i++)
        for (int k = 0; k < s->nhcas || (!k && !s->nhcas); k++) {
            size_t n = strlen(c->ports[i].hca);
            if (!s->nhcas || (!strncmp(s->hcas[k], c->ports[i].hca, n) && (!s->hcas[k][n] || s->hcas[k][n] == ':')))
                return c->ports[i].hca;
        }
    return NULL;
}

static const struct {
    const char *id, *what, *check;
    int (*add)(struct whatif *w, const char *text, struct err *e);
    const char *text; /* NULL: the first HCA */
} faults[] = {
    {"no-gdr", "no GPUDirect RDMA", "NCCL's log: connections without /GDRDMA; lsmod for nvidia_peermem",
     whatif_add_settings, "NCCL_NET_GDR_LEVEL=LOC"},
    {"slow-hca", "one slow NIC, such as %s, at half its lanes or rate", "nccltune probe; nccltune bench --engine verbs",
     whatif_add_half_width},
    {"dead-hca", "one NIC down or not in the container, such as %s", "NCCL's log: NET/IB : Using; nccltune doctor",
     whatif_add_dead},
    {"unused-hcas", "the wrong NIC, one for all GPUs, such as %s", "NCCL_IB_HCA; NCCL's log: NET/IB : Using",
     whatif_add_hcas},
    {"sockets", "sockets for all or some of the ranks",
     "NCCL's log of every rank: via NET/Socket; the GID (NCCL_IB_GID_INDEX)", whatif_add_settings, "NCCL_NET=Socket"},
};
#define FAULTS (sizeof faults / sizeof *faults)
_Static_assert(FAULTS < STEP_CAUSES, /* and one for fewer HCAs */
               "every fault has a place");

static int nearer(const struct step_cause *x, const struct step_cause *y, double measured_us)
{
    if (measured_us > 0)
        return fabs(log(x->waits.us / measured_us)) < fabs(log(y->waits.us / measured_us));
    return x->waits.us > y->waits.us;
}

static void insert(struct step_causes *c, struct step_cause one, double measured_us)
{
    int at = c->n++;
    for (; at && nearer(&one, &c->list[at - 1], measured_us); at--)
        c->list[at] = c->list[at - 1];
    c->list[at] = one;
}

/* The step under the case of `f` that was added last, beside the first. */
static int estimate_last(struct whatif *f, const struct workload *w, struct arena *a, struct step_estimate *s,
                         struct err *e)
{
    return env_step_between(&f->cases[0].setup, &f->cases[f->ncases - 1].setup, w, a, s, e);
}

/* Some of the HCAs in use: as many as what was measured lies between, half of them where nothing was. */
static int try_fewer_hcas(struct whatif *f, const struct workload *w, double measured_us, struct arena *a,
                          struct step_causes *out, struct err *e)
{
    const char **hcas, *list = "";
    struct err impossible = {0};
    struct step_time last = {0};
    int n = whatif_used_hcas(f, &hcas, &impossible), rc = 0;
    for (int k = 1; k < n && !rc; k++) {
        struct step_estimate s;
        list = arena_printf(a, "%s%s%s", list, k > 1 ? "," : "", hcas[k - 1]);
        if (whatif_add_hcas(f, list, &impossible) || (rc = estimate_last(f, w, a, &s, e)))
            return rc;
        struct step_time t = s.tuned.waits;
        int is_it = measured_us > 0 ? t.us <= measured_us && k > 1 && last.us > measured_us : k == n / 2 && k > 1;
        if (is_it && t.us > NEARLY_NONE * s.now.waits.us) {
            for (int i = k; i < n; i++)
                list = arena_printf(a, "%s,%s", list, hcas[i]);
            const char *some = measured_us > 0 ? arena_printf(a, "%d to %d", k - 1, k) : arena_printf(a, "%d", k);
            insert(
                out,
                (struct step_cause){
                    "some-hcas", arena_printf(a, "%s of the %d HCAs in use", some, n),
                    arena_printf(a, "NCCL's log of every node: NET/IB : Using; all of them are NCCL_IB_HCA==%s", list),
                    t},
                measured_us);
            return 0;
        }
        last = t;
    }
    return rc;
}

static int try_faults(struct whatif *f, const struct workload *w, double measured_us, struct arena *a,
                      struct step_causes *out, struct err *e)
{
    int rc = 0;
    const char *hca = first_hca(f);
    for (size_t i = 0; i < FAULTS && !rc; i++) {
        struct err impossible = {0}; /* on this machine: nothing to say */
        struct step_estimate s;
        const char *text = faults[i].text ? faults[i].text : hca;
        if (!text || faults[i].add(f, text, &impossible))
            continue;
        rc = estimate_last(f, w, a, &s, e);
        out->sound = s.now.waits;
        if (!rc && s.tuned.waits.us > NEARLY_NONE * s.now.waits.us)
            insert(
                out,
                (struct step_cause){faults[i].id, arena_printf(a, faults[i].what, hca), faults[i].check, s.tuned.waits},
                measured_us);
    }
    if (!rc)
        rc = try_fewer_hcas(f, w, measured_us, a, out, e);
    return rc || out->sound.us > 0 ? rc : err_set(e, ERR_FAILED, "nothing in this step can be predicted");
}

int step_causes_of(const struct model_setup *job, const struct workload *w, double measured_us, struct arena *a,
                   struct step_causes *out, struct err *e)
{
    struct model_setup s = *job;
    s.nccl.nodes = w && w->ranks > w->ranks_per_node ? (w->ranks + w->ranks_per_node - 1) / w->ranks_per_node : 2;
    struct whatif *f = whatif_new("the machine", COLL_ALLREDUCE, &s, e);
    const int gpus = f ? s.nccl.topology->classes[f->cases[0].setup.nccl.class_index].ngpus : 0;
    struct workload *own = w || !f ? NULL : workload_of_call(COLL_ALLREDUCE, STAND_IN_BYTES, 2 * gpus, gpus);
    *out = (struct step_causes){0};
    int rc = f ? try_faults(f, w ? w : own, measured_us, a, out, e) : e->code;
    workload_free(own);
    whatif_free(f);
    return rc;
}

int step_time_holds(const struct step_time *t, double us)
{
    return us >= t->low_us && us <= t->high_us;
}

/* ---- showing them ---- */

void step_causes_print(const struct step_causes *c, double measured_us, FILE *out)
{
    if (!c->n && !(measured_us > 0 && c->sound.us > 0))
        return;
    const struct step_time *s = &c->sound;
    char measured[3 * UNIT_TEXT], sound[3 * UNIT_TEXT], with[3 * UNIT_TEXT];
    unit_band_us(measured, measured_us, 0, 0);
    unit_band_us(sound, s->us, s->low_us, s->high_us);
    int is_long = measured_us > s->high_us;
    if (is_long)
        fprintf(out, "\nMeasured %s is more than the %s that such a machine takes under these settings.", measured,
                sound);
    else if (measured_us > 0 && measured_us < s->low_us)
        fprintf(out,
                "\nMeasured %s is less than the %s that the model predicts: nothing is slow, or not all of these calls "
                "were measured.",
                measured, sound);
    else if (measured_us > 0)
        fprintf(out, "\nMeasured %s is what such a machine takes: %s.", measured, sound);
    fputs(!c->n && is_long  ? " No fault that whatif knows would explain it: look at NVLink and P2P (nccltune doctor; "
                              "nvidia-smi nvlink -s)\n"
          : !c->n           ? "\n"
          : is_long         ? " What may be wrong, nearest first:\n"
          : measured_us > 0 ? " What would be wrong were it more:\n"
                            : "\nFaults that would make it longer, and the communication with each:\n",
          out);
    for (int i = 0; i < c->n; i++) {
        const struct step_cause *x = &c->list[i];
        char times[32] = ""; /* nothing where hardly anything is waited for without the fault */
        if (x->waits.us < 1000 * s->us)
            snprintf(times, sizeof times, ", %.1f times", x->waits.us / s->us);
        fprintf(out, "  %d. %s: %s%s%s\n     see: %s\n", i + 1, x->what,
                unit_band_us(with, x->waits.us, x->waits.low_us, x->waits.high_us), times,
                is_long && step_time_holds(&x->waits, measured_us) ? "; would explain what was measured" : "",
                x->check);
    }
}

void step_causes_json(const struct step_causes *c, double measured_us, cJSON *doc)
{
    cJSON *causes = cJSON_AddArrayToObject(doc, "causes");
    for (int i = 0; i < c->n; i++) {
        cJSON *o = json_append(causes);
        json_add_str(o, "id", c->list[i].id);
        json_add_str(o, "cause", c->list[i].what);
        json_add_str(o, "check", c->list[i].check);
        step_time_json(o, "communication", &c->list[i].waits);
        cJSON_AddNumberToObject(o, "times", c->list[i].waits.us / c->sound.us);
        if (measured_us > 0)
            cJSON_AddBoolToObject(o, "explains_measured",
                                  measured_us > c->sound.high_us && step_time_holds(&c->list[i].waits, measured_us));
    }
}
