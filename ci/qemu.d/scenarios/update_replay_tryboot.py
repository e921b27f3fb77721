"""Every write and flush of an update with tryboot is recorded; wherever the power is cut, a complete slot boots."""

import replay


def story(bench):
    replay.story(bench, flow="tryboot")
