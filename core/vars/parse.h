/* Values as NCCL itself reads them, release by release: what lint judges by and what generate checks its files with.
 *
 * The rules are those of NCCL's source (src/misc/param.cc, src/misc/utils.cc, src/graph/tuning.cc, src/graph/paths.cc,
 * src/graph/topo.cc at 2.4 to 2.30.7). Nothing here allocates; names point into the text that was given. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/coll.h"

/* ---- numbers: strtoll with base 0, at the value's start; what follows is ignored --------------------------------- */

enum env_number {
    ENV_NUMBER,          /* the whole text is the number */
    ENV_NUMBER_EMPTY,    /* no text: NCCL keeps its default */
    ENV_NUMBER_WORD,     /* no number at all: counts as 0 */
    ENV_NUMBER_TRAILING, /* something behind the number is ignored: "8M" is 8 */
    ENV_NUMBER_OCTAL,    /* a leading 0 makes it octal and another number than it looks: "010" is 8, "08" is 0 */
    ENV_NUMBER_RANGE,    /* does not fit 64 bits: NCCL keeps its default */
};
/* `*value` is what NCCL uses, untouched for EMPTY and RANGE. */
enum env_number env_parse_number(const char *s, int64_t *value);

/* ---- device lists: NCCL_IB_HCA, NCCL_SOCKET_IFNAME, NCCL_OOB_NET_IFNAME ------------------------------------------ */

#define ENV_NAMES_MAX 32 /* NCCL drops what goes beyond */

struct env_device {
    const char *name;
    size_t length;
    int port;    /* -1 any */
    int port_ok; /* 0: the text behind ':' is no number, which makes it port 0 that nothing has */
    int rail;    /* -1 not given; read from 2.30.7 on */
    int rail_ok; /* 0: the text behind the port, a rail and a plane, is no number */
};
struct env_devices {
    int exclude, exact; /* "^", "=" in front of the whole list, in this order */
    int count, dropped; /* entries kept and beyond the limit */
    struct env_device list[ENV_NAMES_MAX];
};
/* Any text can be read: "=^x" is a device named "^x". */
void env_parse_devices(const char *s, struct env_devices *d);

/* Nonzero if an entry means this device, not looking at "^"; port -1 compares names alone. */
int env_device_matches(const struct env_devices *d, const struct env_device *entry, const char *name, int port);

/* Nonzero if NCCL uses the device: no list at all takes everything. */
int env_devices_select(const struct env_devices *d, const char *name, int port);

/* ---- NCCL_ALGO and NCCL_PROTO ------------------------------------------------------------------------------------ */

struct env_choice {
    unsigned allowed[COLL_COUNT]; /* bits of enum algo or enum proto, by enum coll */
    int touched[COLL_COUNT];      /* the value says something about this collective */
    const char *unknown;          /* first word that this release does not know, NULL none … */
    size_t unknown_length;
    int unknown_is_function; /* … and whether it stands where a collective should */
};
/* Release 2.24.3 and later: "list" or "func:list;func:list", an unknown word ends communicator creation with invalid
 * usage. Earlier: one flat list, an unknown word is skipped. Words have any case; a leading '^' inverts. */
void env_parse_algo(const char *s, int version, struct env_choice *c);
void env_parse_proto(const char *s, int version, struct env_choice *c);

/* The algorithms that exist for a collective in a release (bits of enum algo). */
unsigned env_algos_of(int coll, int version);

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* NCCL_P2P_LEVEL, NCCL_NET_GDR_LEVEL: upper case names or old digits. The name that counts, NULL: ignored. */
const char *env_parse_level(const char *s, int version);

/* NCCL_NET_MERGE_LEVEL: by the beginning, upper case. NULL: unknown, which NCCL takes as LOC, no merging. */
const char *env_parse_merge_level(const char *s);

/* NCCL_NET_FORCE_MERGE: 0 fine, -1 a group without any name, on which NCCL never comes back. */
int env_parse_groups(const char *s);

/* NCCL_DEBUG: the level's name in upper case, NULL unknown. Any case. */
const char *env_parse_debug(const char *s);

/* NCCL_DEBUG_SUBSYS: first unknown word and its length, NULL none. Any case, '^' in front inverts. */
const char *env_parse_subsys(const char *s, size_t *length);

/* NCCL_CTA_POLICY: 1 understood by this release, 0 not: a digit from 2.27, names joined with '|' from 2.29.2. */
int env_parse_cta_policy(const char *s, int version);

/* NCCL_NETDEVS_POLICY: AUTO, ALL, MAX:n. 1 understood, 0 not, which NCCL takes as AUTO. */
int env_parse_netdevs(const char *s);

/* ---- configuration files ----------------------------------------------------------------------------------------- */

#define ENV_CONF_MAX 1023 /* bytes of a name or value; the rest is cut */

struct env_line {
    const char *name, *value;
    size_t name_length, value_length; /* after cutting */
    int cut;
};
/* One line of nccl.conf without its '\n': 1 it sets a variable, 0 it does not. '#' counts in column 0 alone, nothing is
 * trimmed, quotes stay, the first '=' splits. `keep_cr`: releases before 2.30 leave a final '\r' in the value. */
int env_parse_conf_line(const char *line, size_t length, int keep_cr, struct env_line *out);
