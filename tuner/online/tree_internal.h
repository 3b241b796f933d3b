/* Between the files of the tree. */
#ifndef TUNER_ONLINE_TREE_INTERNAL_H
#define TUNER_ONLINE_TREE_INTERNAL_H

#include "tuner/online/tree.h"

/* A peer on a connection that is made: the proof begins. */
void online_peer_begin(struct online_tree *t, struct online_peer *p, int fd, int is_parent);

/* Goes on with the proof: 1 done and sealed, 0 not yet, -1 the other side has not the key or is gone. */
int online_peer_prove(struct online_tree *t, struct online_peer *p);
void online_peer_close(struct online_peer *p);
int online_peer_send(struct online_peer *p, int message, const void *body, size_t bytes);

/* What there is of frames goes to `take`, which returns -1 for nonsense. -1: the peer is gone, or of no use. */
int online_peer_read(struct online_tree *t, struct online_peer *p,
                     int (*take)(struct online_tree *t, struct online_peer *p, const struct frame *f));

/* A frame of words, from a link. -1: nonsense. */
int online_tree_words(struct online_tree *t, int link, const struct frame *f);

/* The job cannot go on: this node and all below it are told. */
void online_tree_refuse(struct online_tree *t, const char *why);

/* The parent's connection and the children's, a turn each. */
void online_parent_turn(struct online_tree *t, short events);
void online_parent_flush(struct online_tree *t);
void online_children_turn(struct online_tree *t, const struct pollfd *fds, short listener);
int online_children_linked(const struct online_tree *t); /* how many */
void online_children_close(struct online_tree *t);

#endif
