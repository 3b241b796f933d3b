/* Shared by the doctor's files. */
#pragma once

#include "core/file.h"
#include "core/launcher.h"
#include "envgen/doctor/doctor.h"
#include "envgen/profile/profile.h"
#include "probe/topology/topology.h"
#include "tuner/table/table.h"

/* Add a finding about `subject`. */
void doctor_add(struct doctor *d, enum finding_severity severity, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Open a plugin as NCCL does: the name itself, then as a part of the name of a library that begins with `prefix`. */
void *doctor_open_plugin(struct doctor *d, const char *prefix, const char *name);

/* Check that the plugin at `path` can be loaded, and what it has. */
void doctor_check_plugin(struct doctor *d, const char *path);

/* The same of one that is loaded, `name` for people; closes it. */
void doctor_judge_plugin(struct doctor *d, void *plugin, const char *name);

/* Check the profiler library, which lies beside the plugin. */
void doctor_check_profiler(struct doctor *d, const char *plugin);

/* Check that a job that asks for a capture gets one; `profiler` and `dir` are NCCL_PROFILER_PLUGIN and
 * NCCLTUNE_CAPTURE, NULL when not set. Says nothing when nobody asks. */
void doctor_check_capture(struct doctor *d, const char *profiler, const char *dir);

/* Check that a job is observed that asks for it; NCCLTUNE_OBSERVE and NCCLTUNE_CAPTURE, the same. */
void doctor_check_observe(struct doctor *d, const char *observe, const char *dir);

/* The plugins of others that NCCL finds with these variables: whether they have interfaces that it knows, and whether
 * the tuner under which jobs run is the one over which the profile's default was measured. `measured_over`:
 * env_shape.active, NULL unknown; `chained`: the table asks for NCCL's own tuner first. */
void doctor_check_others(struct doctor *d, launcher_get *get, const void *arg, const char *measured_over, int chained);

/* The profile's measurements on GPUs, as `measured_over` there. */
const char *doctor_measured_over(const struct env_profile *p);

/* Check what NCCL's file at `path` alone brings to jobs: only what is wrong with its plugin, profile, table and hash.
 */
void doctor_check_conf(struct doctor *d, const char *path);

/* Check that the table at `path` can be read, and was measured on the NCCL that the loader finds. Return 0 and put it
 * in *t, for tuner_table_free; -1: it cannot be read, and *t stays empty. */
int doctor_check_table(struct doctor *d, const char *path, struct tuner_table *t);

/* The NCCL that the dynamic loader finds, 22809; 0: none. A program that brings its own, as PyTorch does, may have
 * another. */
int doctor_nccl_version(void);

/* Compare this machine with the profile's topology, which is returned for topo_free; NULL: unreadable. `here`: this
 * machine if it is known, else NULL. The class that it equals or resembles is put in *node_class, NULL: none. */
struct topology *doctor_check_machine(struct doctor *d, const struct env_profile *p, const struct topology *here,
                                      struct log *log, const char **node_class);
