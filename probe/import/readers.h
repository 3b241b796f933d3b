/* Readers of recorded machines: one function for each XML format, which adds classes and hosts to a topology, and one
 * struct for each tool that prints text. `name` is what a host that has no name of its own is called, `file` is for
 * errors. */
#pragma once

#include "core/xml.h"
#include "probe/topology/build.h"

/* Far above any machine, far below what would take seconds. */
#define IMPORT_MOST_OBJECTS 16384 /* in a file */
#define IMPORT_MOST_PORTS   4096  /* with interfaces, in a host; links as well */

/* NCCL's and RCCL's topology files; `roots` are the top elements, of which those called "system" are read. */
int import_nccl_xml(struct topology *t, const struct xml_node *roots, const char *name, const char *file,
                    struct err *e);

/* hwloc's XML, versions 1 to 3; `root` is the "topology" element. */
int import_hwloc_xml(struct topology *t, const struct xml_node *root, const char *name, const char *file,
                     struct err *e);

/* Read the output of nvidia-smi -q -x; `root` is the "nvidia_smi_log" element. */
int import_smi_xml(struct topology *t, const struct xml_node *root, const char *name, const char *file, struct err *e);

/* A text that tools print, alone or among prose, of one host or several: lines, of which each reader takes those that
 * it knows. */
struct text {
    char **lines; /* without colours, marks of quotation and line ends */
    int n, at;    /* `at`: the line that is looked at */
    const char *file;
    struct err *e;
    struct arena *a; /* lives as long as the text */
};

/* A reader of what one tool prints. It begins at a line that it recognises, and reads lines for as long as they are its
 * own, into a class of its own, which is merged with the others of the host. */
struct text_reader {
    const char *name; /* "nvidia-smi topo -m": the command that prints it */
    int (*begins)(const struct text *x);
    int (*read)(struct text *x, struct topology *t, struct topo_class *c); /* moves x->at on */
    int whole; /* what it reads is all that one host has to say: a second one is another host's */
};
extern const struct text_reader reader_smi_topo, reader_p2p, reader_rocm_smi, reader_amd_smi, reader_nvlink,
    reader_ibstat, reader_guids, reader_ibv_devinfo, reader_ibdev2netdev, reader_show_gids, reader_rdma_link,
    reader_lspci;

/* Read a whole document of text, which is overwritten: add a class and a host for every host that it tells of. Returns
 * 0, an error, or -1 if nothing in it is known. */
int import_text(struct topology *t, char *text, const char *name, const char *file, struct err *e);

#define TEXT_MOST_WORDS 600

/* Cuts `text` into the lines of x, whose file, e and a are set; it is overwritten. */
int text_cut(struct text *x, char *text);

/* Sort lines that have a host's name before them, as pdsh prints them, by host, each host below a prompt that names it;
 * other documents stay as they are. */
void text_sort_hosts(struct text *x);

/* The line at x->at + ahead; "" beyond the end. */
const char *text_line(const struct text *x, int ahead);

/* The next line, or the first a little behind it that is not blank; "" where there is none. */
const char *text_next_line(const struct text *x);

/* The line's words, parted by blanks, in x->a; how many, at most `most`. */
int text_words(const struct text *x, const char *line, const char **words, int most);

/* Return the text after `key` and blanks ("Rate: " 400), trimmed; NULL if the line has none. */
const char *text_value(const struct text *x, const char *line, const char *key);

int text_is_blank(const char *line);

/* An error at the line that is looked at. */
int text_wrong(const struct text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The port of that device, added where it is new. */
struct topo_port *text_port(struct topology *t, struct topo_class *c, const char *hca, int port);

/* The GPU of that number, added without a place where it is new; NULL beyond TOPO_MOST_GPUS. */
struct topo_gpu *text_gpu(struct topology *t, struct topo_class *c, int index);
