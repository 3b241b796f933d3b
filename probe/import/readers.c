/* What can be read: XML documents by their root, texts by a line. XML in the midst of a text is read like a tool's. */
#include <stdio.h>
#include <string.h>

#include "probe/import/text.h"

const struct xml_format xml_formats[] = {
    {"NCCL topology", "system", import_nccl_xml},
    {"hwloc XML", "topology", import_hwloc_xml},
    {"nvidia-smi -q -x", "nvidia_smi_log", import_smi_xml},
    {NULL, NULL, NULL},
};

/* The format whose root element opens in the line; NULL. */
static const struct xml_format *opens(const char *line)
{
    line += strspn(line, " \t");
    for (const struct xml_format *f = xml_formats; f->name && *line == '<'; f++) {
        size_t n = strlen(f->root);
        if (!strncmp(line + 1, f->root, n) && strchr(" >", line[1 + n]))
            return f;
    }
    return NULL;
}

static int begins(const struct text *x)
{
    return opens(text_line(x, 0)) != NULL;
}

/* The lines up to the closing tag, behind as many empty ones as stand before them, so that errors name the right one.
 */
static char *document(struct text *x, const char *root)
{
    const char *closing = arena_printf(x->a, "</%s>", root);
    int first = x->at;
    size_t bytes = (size_t)first + 1;
    for (; x->at < x->n; x->at++) {
        bytes += strlen(text_line(x, 0)) + 1;
        if (strstr(text_line(x, 0), closing))
            break;
    }
    x->at += x->at < x->n;
    char *all = arena_alloc(x->a, bytes), *to = all;
    for (int i = 0; i < first; i++)
        *to++ = '\n';
    for (int i = first; i < x->at; i++) {
        size_t n = strlen(x->lines[i]);
        memcpy(to, x->lines[i], n);
        to += n;
        *to++ = '\n';
    }
    *to = 0;
    return all;
}

static int read(struct text *x, struct topology *t, struct topo_class *c)
{
    const struct xml_format *f = opens(text_line(x, 0));
    char *text = document(x, f->root);
    struct topology one = {.arena = t->arena};
    struct xml_node *root = xml_parse(text, strlen(text), x->file, x->a, x->e);
    if (!root || f->read(&one, root, "xml", x->file, x->e))
        return ERR_FAILED;
    const char *name = c->name;
    *c = one.classes[0];
    c->name = name;
    return 0;
}

static const struct text_reader reader_xml = {"XML", begins, read, 1};

const struct text_reader *const text_readers[] = {
    &reader_xml,       &reader_smi_topo,
    &reader_p2p,       &reader_rocm_smi,
    &reader_amd_smi,   &reader_nvlink,
    &reader_ibstat,    &reader_ibv_devinfo,
    &reader_show_gids, &reader_ibdev2netdev,
    &reader_rdma_link, &reader_lspci,
    &reader_guids,     NULL,
};
