/* The bytes of a door (door.h), for those who frame messages. */
#ifndef WIRE_H
#define WIRE_H
#include "door.h"

void send_all(struct door *door, const char *bytes, size_t size);
/* The next `size` bytes. */
char *take(struct door *door, size_t size);
/* The text before the mark, which is consumed too. */
char *until(struct door *door, const char *mark);
/* Waits a minute of the guest's at most. Whether there is something to read, or the end. */
int comes(int from);
#endif
