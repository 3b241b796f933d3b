/* Topologies of recorded machines. */
#pragma once

#include "core/log.h"
#include "probe/topology/topology.h"

/* Read recorded machines. The content of a file tells what it is: topology.json, XML of NCCL, hwloc or nvidia-smi, what
 * tools print, alone or among prose. Several files become one topology with one host each, named by the file; a text
 * may tell of several hosts. */
struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e);

/* After a merge: the notes on what other files could add are of what is still missing. */
void import_renew_needs(struct topology *t);

/* The same of a text that tools printed, among anything else; `text` is written to. NULL without an error's text where
 * it tells of no machine. */
struct topology *probe_text(char *text, const char *name, struct err *e);

/* The same, but identical machines become one class (classes_merge); needs memory for the classes alone. */
struct topology *probe_hosts(const char *const *paths, int npaths, struct log *log, struct err *e);
