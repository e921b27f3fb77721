"""Updates with U-Boot: 1 to 2 over HTTPS; 3 crashes, 4 panics, 5 hangs, and each time 2 is back; then 2 is damaged, and 1 boots."""

import updates

MINUTES = 5


def story(bench):
    updates.story(bench, flow="uboot")
