"""Every write and flush of an update with U-Boot is recorded; wherever the power is cut, a complete slot boots."""

import replay


def story(bench):
    replay.story(bench, flow="uboot")
