/* What a job takes from the machine's topology, and how far ahead FSDP gathers. */
#include "model/workload/parts.h"
#include "probe/machines/machines.h"
#include "tests/lib/known_jobs.h"
#include "tests/lib/unit.h"

static struct topology *machine(const char *name)
{
    struct err e = {0};
    struct topology *t = machine_topology(name, 1, &e);
    if (!t)
        fail_msg("%s", e.text);
    return t;
}

/* Two A100 share a switch's link to the processor; a link that came up with half its lanes counts as it is now. */
TEST_CASE(links_are_those_of_the_machine)
{
    struct topology *t = machine("dgx-a100");
    struct topo_class *c = &t->classes[0];
    const double own = c->objects[c->gpus[0].object].link_GBps;
    struct workload_job j = {0};
    workload_take_machine(&j, t);
    assert_true(own > 20);
    assert_near(j.host_GBps, 0.8 * own / 2, 0.01);
    assert_near(j.memory_GiB, 80, 1);
    assert_int_equal(j.no_nvlink, 0);
    c->objects[c->gpus[3].object].link_GBps = own / 4;
    j = (struct workload_job){0};
    workload_take_machine(&j, t);
    assert_near(j.host_GBps, 0.8 * own / 4, 0.01);
    topo_free(t);
}

TEST_CASE(what_was_given_counts)
{
    struct topology *t = machine("dgx-a100");
    struct workload_job j = {.host_GBps = 7, .memory_GiB = 40};
    workload_take_machine(&j, t);
    assert_near(j.host_GBps, 7, 0);
    assert_near(j.memory_GiB, 40, 0);
    topo_free(t);
}

TEST_CASE(what_the_machine_does_not_tell_stays_open)
{
    struct topology *t = machine("4xl40s-pcie");
    struct topo_class *c = &t->classes[0];
    for (int i = 0; i < c->nobjects; i++)
        c->objects[i].link_GBps = 0;
    struct workload_job j = {0};
    workload_take_machine(&j, t);
    assert_near(j.host_GBps, 0, 0);
    assert_int_equal(j.no_nvlink, 1);
    topo_free(t);
}

static struct workload_job job_of(int prefetch)
{
    struct workload_job j = known_job("verl-ppo-fsdp-7b");
    struct err e = {0};
    j.prefetch = prefetch;
    if (workload_job_complete(&j, &e))
        fail_msg("%s", e.text);
    return j;
}

/* The gathers' overlap, and whether reductions keep theirs. */
static double hidden_us(const struct workload_job *j, int kind)
{
    struct workload *w = workload_generate(j);
    double us = 0;
    for (int i = 0; i < w->nphases; i++)
        for (int k = 0; k < w->phases[i].ncalls; k++)
            if (w->phases[i].calls[k].kind == kind)
                us += fmax(0, w->phases[i].calls[k].overlap_us);
    workload_free(w);
    return us;
}

TEST_CASE(without_prefetch_gathers_are_waited_for)
{
    struct workload_job usual = job_of(0), none = job_of(-1), three = job_of(3);
    assert_int_equal(usual.prefetch, 1);
    assert_true(hidden_us(&usual, COLL_ALLGATHER) > 0);
    assert_near(hidden_us(&none, COLL_ALLGATHER), 0, 0);
    assert_true(hidden_us(&none, COLL_REDUCESCATTER) > 0);
    /* What is gathered ahead needs memory: a layer each. */
    double layer = 2 * (double)language_model_part(&usual.model, WORKLOAD_LAYER);
    assert_near(workload_memory_of(&three).gathered - workload_memory_of(&usual).gathered, 2 * layer, 1);
    assert_near(workload_memory_of(&usual).gathered - workload_memory_of(&none).gathered, layer, 1);
}

static double count_of(const struct workload *w, const char *phase, int kind)
{
    double n = 0;
    for (int i = 0; i < w->nphases; i++)
        for (int k = 0; k < w->phases[i].ncalls && !strcmp(w->phases[i].name, phase); k++)
            n += w->phases[i].calls[k].kind == kind ? w->phases[i].calls[k].count : 0;
    return n;
}

/* What is trained on twice is generated once. */
TEST_CASE(epochs_train_again)
{
    struct workload_job once = job_of(0), twice = once;
    twice.epochs = 2;
    struct workload *a = workload_generate(&once), *b = workload_generate(&twice);
    assert_near(count_of(b, "actor backward", COLL_REDUCESCATTER),
                2 * count_of(a, "actor backward", COLL_REDUCESCATTER), 0);
    assert_near(count_of(b, "actor optimizer", COLL_ALLREDUCE), 2 * count_of(a, "actor optimizer", COLL_ALLREDUCE), 0);
    assert_near(count_of(b, "logprob", COLL_ALLGATHER), count_of(a, "logprob", COLL_ALLGATHER), 0);
    assert_near(count_of(b, "rollout", COLL_ALLREDUCE), count_of(a, "rollout", COLL_ALLREDUCE), 0);
    workload_free(a);
    workload_free(b);
}

/* Another layout of a job: micro-batches are accumulated as its mini-batch asks, and the memory is that layout's. */
TEST_CASE(a_job_in_another_layout)
{
    struct workload_job j = known_job("verl-grpo-megatron-7b-tp2pp2"), other = j;
    struct err e = {0};
    struct arena *a = arena_new();
    other.tp = 4;
    other.pp = 1;
    other.gpu = j.gpu = "a10";
    assert_int_equal(workload_job_complete(&j, &e) | workload_job_complete(&other, &e), 0);
    assert_int_equal(j.dp, 2);
    assert_int_equal(j.grad_accum, 1280 / 2 / 4);
    assert_int_equal(other.dp, 2);
    assert_int_equal(other.grad_accum, 1280 / 2 / 4);
    other = known_job("verl-grpo-megatron-7b-tp2pp2");
    other.tp = other.pp = 1;
    other.gpu = "a10";
    assert_int_equal(workload_job_complete(&other, &e), 0);
    assert_int_equal(other.dp, 8);
    assert_int_equal(other.grad_accum, 1280 / 8 / 4);
    assert_true(workload_memory_of(&other).weights > 2 * workload_memory_of(&j).weights);
    struct findings f = workload_check(&other, NULL, a);
    assert_int_equal(finding_count(f.list, f.n, FINDING_ERROR), 1);
    assert_string_equal(f.list[0].id, "memory");
    arena_free(a);
}

/* The slowest way of all GPUs counts, and the smallest memory; what is not known is left aside, and so is who copies
 * over C2C. */
TEST_CASE(the_least_of_all)
{
    struct topo_object objects[] = {{.kind = TOPO_NUMA, .parent = -1},
                                    {.kind = TOPO_SWITCH, .parent = 0, .link_GBps = 30},
                                    {.kind = TOPO_GPU, .parent = 1, .link_GBps = 20},
                                    {.kind = TOPO_GPU, .parent = 1, .link_GBps = 14},
                                    {.kind = TOPO_GPU, .parent = 0}};
    struct topo_gpu gpus[] = {
        {.object = 2, .mem_bytes = 3ull << 30}, {.object = 3, .mem_bytes = 2ull << 30}, {.object = 4, .mem_bytes = 0}};
    struct topo_class classes[] = {
        {.objects = objects, .gpus = gpus, .nobjects = 5, .ngpus = 3},
        {.objects = objects, .gpus = gpus, .nobjects = 5, .ngpus = 1},
    };
    const struct topology t = {.classes = classes, .nclasses = 2};
    struct workload_job j = {0};
    workload_take_machine(&j, &t);
    assert_near(j.host_GBps, 0.8 * 14, 1e-9);
    assert_near(j.memory_GiB, 2, 1e-9);
    assert_int_equal(j.no_nvlink, 1);
    objects[1].link_GBps = 26; /* which two share */
    j = (struct workload_job){.gpu = "h100-sxm"};
    workload_take_machine(&j, &t);
    assert_near(j.host_GBps, 0.8 * 13, 1e-9);
    assert_near(j.memory_GiB, 0, 0);
    gpus[1].memory_numa = "1";
    objects[3].link_GBps = 1;
    j = (struct workload_job){.memory_GiB = 1};
    workload_take_machine(&j, &t);
    assert_near(j.host_GBps, 0.8 * 13, 1e-9);
    assert_near(j.memory_GiB, 1, 0);
}

TEST_CASES(test_machine)
