/* Small files and links under /sys and /proc, of this machine or of a copied tree. Every function takes a printf-like
 * path that begins with '/'. */
#pragma once

#include "core/arena.h"

/* Reads below `dir` from now on; NULL or "": this machine. For the whole process, like the tree that it stands for. */
void sysfs_set_root(const char *dir);

/* The directory that was set; NULL: this machine. */
const char *sysfs_root(void);

/* First line of the file without its newline; NULL when it cannot be read or is empty. */
char *sysfs_line(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The file's first line as a whole number; `otherwise` when it is none. */
long sysfs_int(long otherwise, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Last part of what the symbolic link points to: "br0"; NULL when there is no link. */
char *sysfs_link(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Address of the PCI function that the device behind the path is, or sits on (virtio, auxiliary bus); NULL: none. */
const char *sysfs_pci(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int sysfs_exists(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Names in a directory, without those that begin with a dot, in the natural order ("2" before "10"); how many are in
 * `*names`, 0 when it cannot be read. */
int sysfs_list(struct arena *a, const char ***names, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Up to `room` bytes of a file of any content; how many were read. */
size_t sysfs_bytes(unsigned char *bytes, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
