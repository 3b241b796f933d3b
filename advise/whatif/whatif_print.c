/* Variations side by side, as a table for people and as JSON. */

#include "advise/whatif/whatif.h"

#include <math.h>
#include <string.h>

#include "advise/whatif/step.h"
#include "core/coll.h"
#include "core/finding.h"
#include "core/json.h"
#include "core/units.h"
#include "envgen/predict/predict.h"
#include "model/model.h"

/* Where latency counts, where both do, where bandwidth does. */
static const uint64_t usual[] = {(uint64_t)64 << 10, (uint64_t)4 << 20, (uint64_t)1 << 30};

/* The n-th size that is shown; 0 past the last. */
static uint64_t size_shown(const struct whatif *w, size_t n)
{
    return w->bytes ? (n ? 0 : w->bytes) : n < sizeof usual / sizeof *usual ? usual[n] : 0;
}

/* NULL: there is no prediction, or no busbw of it, which a rank alone has none of. */
static const struct whatif_cell *cell_at(const struct whatif *w, const struct whatif_case *c, uint64_t bytes)
{
    for (int i = 0; i < w->nsizes && c->model; i++)
        if (w->sizes[i] == bytes && whatif_busbw(w, c, bytes, c->cells[i].untouched.us) > 0)
            return &c->cells[i];
    return NULL;
}

/* ---- the table ---- */

static void print_headings(const struct whatif *w, FILE *out)
{
    const struct nccl_model *m = w->cases[0].model->nccl;
    int nodes = w->cases[0].setup.nccl.nodes;
    size_t last = 0;
    char text[UNIT_TEXT];
    while (size_shown(w, last + 1))
        last++;
    fprintf(out,
            "# PREDICTED, nothing was measured: busbw in GB/s of %s, %d rank%s on %d node%s of %s, %s\n"
            "# default: as NCCL chooses; tuned: the fastest choice, as a tuner table can make it\n"
            "# x: default over that of the machine as it is; 90 %% interval of the default at %s\n#\n",
            coll_name(w->coll), m->ranks, m->ranks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", w->machine,
            w->cases[0].model->library, unit_bytes(text, size_shown(w, last)));
    fprintf(out, "# %-22s", "");
    for (size_t i = 0; size_shown(w, i); i++)
        fprintf(out, "  ------ %7s ------", unit_bytes(text, size_shown(w, i)));
    fprintf(out, "\n# %-22s", "variation");
    for (size_t i = 0; size_shown(w, i); i++)
        fprintf(out, "  %7s %7s %5s", "default", "tuned", "x");
    fputs("  interval        bound by\n", out);
}

/* A variation's name in its column, or in a line of its own. */
static int print_label(const char *label, FILE *out)
{
    if (strlen(label) > 22)
        fprintf(out, "  %s\n", label);
    return fprintf(out, "  %-22s", strlen(label) > 22 ? "" : label);
}

/* A variation and a text, in lines of at most COLUMNS, broken at blanks. */
#define COLUMNS 100
static void print_row(const char *label, const char *text, FILE *out)
{
    finding_put_wrapped(out, text, print_label(label, out) + fprintf(out, "  "), 26, COLUMNS, "");
    fputc('\n', out);
}

/* The only size: how long it takes. */
static void print_time(const struct whatif *w, const struct whatif_case *c, FILE *out)
{
    const struct model_time *t = &c->cells->untouched;
    char size[UNIT_TEXT];
    if (c->problem || !(t->us > 0))
        return;
    print_row(c->label,
              arena_printf(w->arena, "one %s of %s takes %.4g ms (%.3g to %.3g)", coll_name(w->coll),
                           unit_bytes(size, w->bytes), t->us / 1e3, t->low_us / 1e3, t->high_us / 1e3),
              out);
}

/* NCCL's choice moves with what it believes of the machine: the reason when less of it is faster. */
static int chooses_otherwise(const struct whatif_cell *now, const struct whatif_cell *base)
{
    return now->untouched.algo != base->untouched.algo || now->untouched.proto != base->untouched.proto;
}

static int any_chooses_otherwise(const struct whatif *w)
{
    for (int i = 1; i < w->ncases; i++)
        for (size_t k = 0; size_shown(w, k); k++) {
            const struct whatif_cell *now = cell_at(w, &w->cases[i], size_shown(w, k)),
                                     *base = cell_at(w, &w->cases[0], size_shown(w, k));
            if (now && base && chooses_otherwise(now, base))
                return 1;
        }
    return 0;
}

static void print_case(const struct whatif *w, const struct whatif_case *c, FILE *out)
{
    print_label(c->label, out);
    if (c->problem) {
        fprintf(out, "  cannot be predicted: %s\n", c->problem);
        return;
    }
    const struct whatif_cell *last = NULL;
    for (size_t i = 0; size_shown(w, i); i++) {
        const struct whatif_cell *now = cell_at(w, c, size_shown(w, i)),
                                 *base = cell_at(w, &w->cases[0], size_shown(w, i));
        if (!now) {
            fprintf(out, "  %7s %7s %5s", "-", "-", "-");
            continue;
        }
        double busbw = whatif_busbw(w, c, now->bytes, now->untouched.us);
        fprintf(out, "  %7.2f %7.2f", busbw, whatif_busbw(w, c, now->bytes, now->tuned.us));
        if (base)
            fprintf(out, "%c%5.2f", chooses_otherwise(now, base) ? '*' : ' ',
                    busbw / whatif_busbw(w, &w->cases[0], now->bytes, base->untouched.us));
        else
            fprintf(out, " %5s", "-");
        last = now;
    }
    if (last) {
        char interval[40];
        double low = whatif_busbw(w, c, last->bytes, last->untouched.high_us);
        double high = whatif_busbw(w, c, last->bytes, last->untouched.low_us);
        snprintf(interval, sizeof interval, high < 1000 ? "[%.3g, %.3g]" : "[%.3g, %.0f]", low, high);
        fprintf(out, "  %-14s  %s", interval, last->untouched.limit);
    }
    fputc('\n', out);
}

/* Sizes that other kernels than RCCL's make on the machine as it is. */
static void print_takers(const struct whatif *w, FILE *out)
{
    char text[UNIT_TEXT];
    for (size_t i = 0; size_shown(w, i); i++) {
        const struct whatif_cell *c = cell_at(w, &w->cases[0], size_shown(w, i));
        if (c && c->untouched.taken_by)
            fprintf(out, "\n  At %s %s's kernels make the call, not RCCL's own: %s.\n",
                    unit_bytes(text, size_shown(w, i)), c->untouched.taken_by,
                    w->coll == COLL_ALLREDUCE ? "the best ring stands in" : "the model does not know their time");
    }
}

static int is_unvalidated(const struct whatif *w)
{
    for (int i = 0; i < w->ncases; i++) {
        const struct whatif_cell *c = cell_at(w, &w->cases[i], size_shown(w, 0));
        if (c && c->untouched.unvalidated)
            return 1;
    }
    return 0;
}

static const char *setting_text(const struct whatif *w, const struct whatif_case *c, int i)
{
    return arena_printf(w->arena, "%s=%s", c->settings[i].name, c->settings[i].value);
}

/* "5.0x faster without it". */
static const char *gain_text(const struct whatif *w, const struct setting_gain *g, const char *without)
{
    if (!g->factor)
        return arena_printf(w->arena, "no prediction without %s", without);
    if (fabs(log(g->factor)) < log(1.05))
        return arena_printf(w->arena, "no faster there without %s", without);
    return arena_printf(w->arena, "%.3gx %s without %s%s", fmax(g->factor, 1 / g->factor),
                        g->factor > 1 ? "faster" : "slower", without, g->sure ? "" : " (within the model's error)");
}

/* What a setting costs at which sizes; of several its part of what all cost. "": nothing that is sure. */
static const char *cost_text(const struct whatif *w, const struct setting_cost *cost)
{
    char text[SETTING_COST_TEXT], worst[UNIT_TEXT], size[UNIT_TEXT];
    const int far = (cost->from_bytes && cost->unsure_bytes < cost->from_bytes / 4) ||
                    (cost->to_bytes && cost->unsure_bytes > cost->to_bytes * 4);
    if (cost->factor == 1)
        return "";
    const char *does = arena_strdup(w->arena, predict_setting_cost_text(cost, text));
    if (!far || fabs(log(cost->unsure)) <= fabs(log(cost->factor)) / 2)
        return does;
    return arena_printf(w->arena, "%s, most at %s; %.1fx at %s is within the model's error", does,
                        unit_bytes(worst, cost->worst_bytes), cost->unsure, unit_bytes(size, cost->unsure_bytes));
}

/* What each setting of a job does, and what leaving it out gains, the most useful first. */
static void print_costs(const struct whatif *w, const struct whatif_case *c, FILE *out)
{
    struct setting_cost *costs = arena_alloc(w->arena, (size_t)(c->nsettings + 1) * sizeof *costs), all = {0};
    struct setting_gain *gains = arena_alloc(w->arena, (size_t)(c->nsettings + 1) * sizeof *gains);
    const struct nccl_setup *base = &w->cases[0].setup.nccl;
    const char *same = "";
    char size[UNIT_TEXT];
    int nsame = 0;
    for (int i = 0; i < c->nsettings; i++) {
        gains[i] = (struct setting_gain){i, i, 1, 0};
        if (predict_setting_share(base, c->settings, c->nsettings, i, w->coll, &costs[i]))
            costs[i] = (struct setting_cost){.factor = 1}; /* a later one overrides it */
        else
            all = costs[i];
    }
    const struct setting_gain *pair = &gains[c->nsettings];
    const int several = c->nsettings > 1 && all.at_bytes && fabs(log(all.of_all)) > log(1.05);
    if (several) {
        predict_gains(base, c->settings, c->nsettings, &(struct model_call){w->coll, all.at_bytes, -1, -1, 0}, gains);
        print_row(c->label,
                  arena_printf(w->arena, "all together cost %.3gx at %s; what leaving one out gains there:", all.of_all,
                               unit_bytes(size, all.at_bytes)),
                  out);
    }
    for (int k = 0; k < c->nsettings; k++) {
        const struct setting_gain *g = &gains[k];
        const char *costs_text = cost_text(w, &costs[g->first]), *setting = setting_text(w, c, g->first);
        const int in_pair = several && pair->factor && (g->first == pair->first || g->first == pair->second);
        if (!*costs_text && fabs(log(g->factor)) < log(1.05) && in_pair)
            continue;
        if (!*costs_text && fabs(log(g->factor)) < log(1.05))
            same = arena_printf(w->arena, "%s%s%s", same, nsame++ ? ", " : "", setting);
        else if (several)
            print_row(c->label,
                      arena_printf(w->arena, "%s: %s%s%s", setting, gain_text(w, g, "it"),
                                   *costs_text ? "; its part " : "", costs_text),
                      out);
        else
            print_row(c->label, arena_printf(w->arena, "%s %s", setting, costs_text), out);
    }
    if (several && pair->factor)
        print_row(c->label,
                  arena_printf(w->arena, "%s and %s: %s, more than each alone", setting_text(w, c, pair->first),
                               setting_text(w, c, pair->second), gain_text(w, pair, "both")),
                  out);
    if (nsame)
        print_row(c->label, arena_printf(w->arena, "%s make%s no clear difference", same, nsame == 1 ? "s" : ""), out);
}

void whatif_print(const struct whatif *w, FILE *out)
{
    print_headings(w, out);
    for (int i = 0; i < w->ncases; i++)
        print_case(w, &w->cases[i], out);
    fputc('\n', out);
    for (int i = 0; i < w->ncases && w->bytes; i++)
        print_time(w, &w->cases[i], out);
    for (int i = 1; i < w->ncases; i++)
        print_row(w->cases[i].label, w->cases[i].what, out);
    for (int i = 1; i < w->ncases; i++)
        print_costs(w, &w->cases[i], out);
    if (any_chooses_otherwise(w))
        fputs("\n  * NCCL chooses another algorithm or protocol there than on the machine as it is.\n", out);
    print_takers(w, out);
    const struct model *m = w->cases[0].model;
    if (m->nassumptions)
        fputc('\n', out);
    for (int i = 0; i < m->nassumptions; i++)
        fprintf(out, "  assumed: %s\n", m->assumptions[i]);
    if (is_unvalidated(w))
        fprintf(
            out,
            "\n  Unvalidated, with wider intervals: no published result covers all sizes on more than %d nodes, nor "
            "on\n  some GPUs and NICs (doc/MODEL.md).\n",
            MODEL_VALIDATED_NODES);
}

/* ---- JSON ---- */

static void add_time(cJSON *point, const char *key, const struct whatif *w, const struct whatif_case *c, uint64_t bytes,
                     const struct model_time *t)
{
    cJSON *o = step_time_json(point, key, &(struct step_time){t->us, t->low_us, t->high_us});
    cJSON_AddNumberToObject(o, "busbw_GBps", whatif_busbw(w, c, bytes, t->us));
    json_add_str(o, "algorithm", algo_name(t->algo));
    json_add_str(o, "protocol", proto_name(t->proto));
    cJSON_AddNumberToObject(o, "channels", t->channels);
    json_add_str(o, "limit", t->limit);
    json_add_str(o, "taken_by", t->taken_by);
    cJSON_AddBoolToObject(o, "unvalidated", t->unvalidated);
}

static void add_costs(cJSON *o, const struct whatif *w, const struct whatif_case *c)
{
    struct setting_cost cost, all = {0};
    cJSON *list = c->nsettings ? cJSON_AddArrayToObject(o, "settings") : NULL;
    for (int i = 0; i < c->nsettings; i++) {
        cJSON *row = json_append(list);
        json_add_str(row, "name", c->settings[i].name);
        json_add_str(row, "value", c->settings[i].value);
        if (predict_setting_share(&w->cases[0].setup.nccl, c->settings, c->nsettings, i, w->coll, &cost))
            continue;
        cJSON_AddNumberToObject(row, "times_as_long", cost.factor);
        cJSON_AddNumberToObject(row, "from_bytes", (double)cost.from_bytes);
        cJSON_AddNumberToObject(row, "to_bytes", (double)cost.to_bytes);
        cJSON_AddNumberToObject(row, "share", cost.share);
        cJSON_AddNumberToObject(row, "of_all", cost.of_all);
        cJSON_AddNumberToObject(row, "at_bytes", (double)cost.at_bytes);
        all = cost;
    }
    if (c->nsettings < 2 || !all.at_bytes)
        return;
    struct setting_gain *gains = arena_alloc(w->arena, (size_t)(c->nsettings + 1) * sizeof *gains), *pair;
    predict_gains(&w->cases[0].setup.nccl, c->settings, c->nsettings,
                  &(struct model_call){w->coll, all.at_bytes, -1, -1, 0}, gains);
    for (int i = 0; i < c->nsettings; i++)
        cJSON_AddNumberToObject(cJSON_GetArrayItem(list, gains[i].first), "faster_without", gains[i].factor);
    pair = &gains[c->nsettings];
    if (!pair->factor)
        return;
    cJSON *o_pair = cJSON_AddObjectToObject(o, "pair");
    json_add_strs(o_pair, "settings",
                  (const char *const[]){c->settings[pair->first].name, c->settings[pair->second].name}, 2);
    cJSON_AddNumberToObject(o_pair, "faster_without", pair->factor);
}

static void add_case(cJSON *list, const struct whatif *w, const struct whatif_case *c)
{
    cJSON *o = json_append(list);
    json_add_str(o, "label", c->label);
    json_add_str(o, "what", c->what);
    json_add_str(o, "problem", c->problem);
    cJSON_AddNumberToObject(o, "nodes", c->setup.nccl.nodes);
    if (!c->model)
        return;
    add_costs(o, w, c);
    cJSON_AddNumberToObject(o, "ranks", c->model->nccl->ranks);
    cJSON *points = cJSON_AddArrayToObject(o, "points");
    for (int i = 0; i < w->nsizes; i++) {
        const struct whatif_cell *cell = &c->cells[i];
        if (!(cell->untouched.us > 0))
            continue;
        cJSON *point = json_append(points);
        cJSON_AddNumberToObject(point, "bytes", (double)cell->bytes);
        add_time(point, "default", w, c, cell->bytes, &cell->untouched);
        add_time(point, "tuned", w, c, cell->bytes, &cell->tuned);
    }
}

cJSON *whatif_json(const struct whatif *w)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", "nccltune-whatif/1");
    cJSON_AddBoolToObject(doc, "predicted", 1);
    json_add_str(doc, "machine", w->machine);
    json_add_str(doc, "collective", coll_name(w->coll));
    if (w->cases[0].model) {
        json_add_str(doc, "library", w->cases[0].model->library);
        json_add_strs(doc, "assumed", w->cases[0].model->assumptions, w->cases[0].model->nassumptions);
    }
    cJSON *list = cJSON_AddArrayToObject(doc, "variations");
    for (int i = 0; i < w->ncases; i++)
        add_case(list, w, &w->cases[i]);
    return doc;
}
