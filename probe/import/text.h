/* Texts that tools print, alone or among prose, of one host or several: cut into lines, of which readers take those
 * that they know. */
#ifndef PROBE_IMPORT_TEXT_H
#define PROBE_IMPORT_TEXT_H

#include "probe/import/import_internal.h"

struct text {
    char **lines; /* without colours, marks of quotation and line ends */
    int n, at;    /* `at`: the line that is looked at */
    const char *file;
    struct err *e;
    struct arena *a; /* lives as long as the text */
};

/* A reader of what one tool prints. It begins where it recognises its own, and takes lines for as long as they are;
 * what it read goes into a class of its own, which is merged with the others of the host. */
struct text_reader {
    const char *name; /* "nvidia-smi topo -m": the command that prints it */
    int (*begins)(const struct text *x);
    int (*read)(struct text *x, struct topology *t, struct topo_class *c); /* moves x->at on */
    int whole; /* what it reads is all that one host has to say: a second one is another host's */
};
extern const struct text_reader reader_smi_topo, reader_p2p, reader_rocm_smi, reader_amd_smi, reader_nvlink,
    reader_ibstat, reader_guids, reader_ibv_devinfo, reader_ibdev2netdev, reader_show_gids, reader_rdma_link,
    reader_lspci;
extern const struct text_reader
    *const text_readers[]; /* in readers.c, ends with NULL; the first that recognises a line has it */

#define TEXT_MOST_WORDS 600

/* Cuts `text` into the lines of x, whose file, e and a are set; it is overwritten. */
int text_cut(struct text *x, char *text);

/* In prefixes.c. Puts lines that have a host's name before them, as pdsh prints them, in the order of hosts, each below
 * a prompt of its host; other documents stay as they are. */
void text_sort_hosts(struct text *x);

/* The line at x->at + ahead; "" beyond the end. */
const char *text_line(const struct text *x, int ahead);

/* The next line, or the first a little behind it that is not blank; "" where there is none. */
const char *text_next_line(const struct text *x);

/* The line's words, parted by blanks, in x->a; how many, at most `most`. */
int text_words(const struct text *x, const char *line, const char **words, int most);

/* What stands behind `key` and blanks ("Rate: " 400), without blanks at its ends; NULL where the line has none. */
const char *text_value(const struct text *x, const char *line, const char *key);

int text_is_blank(const char *line);

/* An error at the line that is looked at. */
int text_wrong(const struct text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The port of that device, added where it is new. */
struct topo_port *text_port(struct topology *t, struct topo_class *c, const char *hca, int port);

/* The GPU of that number, added without a place where it is new; NULL beyond TOPO_MOST_GPUS. */
struct topo_gpu *text_gpu(struct topology *t, struct topo_class *c, int index);

/* In document.c. Reads the whole document: a class and a host for every host that it tells of. -1: nothing in it is
 * known. */
int import_text(struct topology *t, char *text, const char *name, const char *file, struct err *e);

#endif
