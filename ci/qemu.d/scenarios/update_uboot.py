"""Updates with U-Boot: 1 to 2 over HTTPS; 3 crashes, 4 panics, 5 hangs, and each time it is 2 again; then 2 rots, and it is 1."""

import updates

MINUTES = 5


def story(bench):
    updates.story(bench, flow="uboot")
