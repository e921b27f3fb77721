"""Measures a week of samples with examples/samples.rs for docs/benchmarks.md: see ./ci/bench."""

import json
import subprocess
import sys

PROGRAM, FOLDER, OUTPUT = sys.argv[1:4]
MB = 1e6


def measure(*how):
    """Runs examples/samples.rs; `how` is DAYS, INTERVAL_SECONDS and RETENTION_HOURS."""
    said = subprocess.run([PROGRAM, FOLDER, *how], check=True, capture_output=True, text=True, timeout=900).stdout
    return json.loads(said)


def main():
    figures = measure()
    default = measure("2", "60", "48")
    goals = [
        (f"{figures['samples']:,} samples to {figures['points']:,} 1-minute buckets, median of 20, ms",
         figures["query_one_metric_ms"], 50),
        ("that store, with its log, MB", figures["store_bytes"] / MB, 12),
        ("written to the card per day by a 5 s job, MB", figures["card_bytes_a_day"] / MB, 20),
        ("written to the card per day by the default job (60 s), MB", default["card_bytes_a_day"] / MB, 5),
        ("all samples of the default job (48 h), MB", default["samples_bytes"] / MB, 0.5),
    ]
    rows = [f"| {words} | {value:.1f} | < {wanted} | {'met' if value < wanted else 'MISSED'} |" for words, value, wanted in goals]
    text = "\n".join([
        "## A week of samples", "",
        "All 17 metrics every 5 s for seven days, sampled by the production code with a manually advanced clock (`examples/samples.rs`).", "",
        "| goal | measured | required | |", "| --- | --- | --- | --- |", *rows, "",
        f"A query of two metrics takes {figures['query_two_metrics_ms']:.1f} ms, of all metrics by the hour "
        f"{figures['query_all_metrics_by_the_hour_ms']:.1f} ms, a page of 1,000 samples {figures['page_of_1000_ms']:.1f} ms; "
        f"reading the machine's state {figures['look_us']} µs. The samples alone take {figures['samples_bytes'] / MB:.1f} MB.", "",
    ])
    with open(OUTPUT, "a") as f:
        f.write("\n" + text)
    print(text)
    return 1 if any(value >= wanted for _, value, wanted in goals) else 0


if __name__ == "__main__":
    sys.exit(main())
