"""Measures a simulated fleet: python3 bench.py [--limits] [--rollout] [--foreign PROGRAM] SIMULATOR RASPI_MCP COUNT...

--limits fails if the console is slower or larger than it may be. --foreign runs a Python program with the fleet's folder, which has to
read the status of every device. --rollout adds a rollout of three stages that sick devices stop (at least 500 devices).

One line of JSON for each COUNT. The broker's processor time and memory are those of its process (/proc), the console's those of
`raspi-mcp fleet status` (wait4)."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
CHANGES = 5
# With --limits: seconds of `fleet status` (of a debug build), ms until a change is told, MiB of the console.
LIMITS = {"status_s": 4, "change_ms_worst": 2000, "status_mib": 200, "watch_mib": 200}


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def run(command):
    """Exit code, output, seconds, and the most memory it had in MiB."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, text, time.monotonic() - begun, usage.ru_maxrss / 1024


def rollout(program, count, folder, order, child):
    """A release in three stages, which one device in a hundred does not survive: `fleet rollout` stops in the second one. Takes 21
    minutes: nothing goes on before the controller has listened for `silent_minutes`, and 20 is the least."""
    order("channel")
    child.stdout.readline()
    limit = max(2, count // 500)
    stages = [(10, count * 8 // 100), (40, count * 36 // 100), (100, count * 9 // 10)]
    plan = folder / "plan.toml"
    plan.write_text(
        f'version = "1.2.0"\nfolder = "www"\nsilent_minutes = 20\n[stop]\nfailed_count = {limit}\nfailed_percent = 50\nsilent_percent = 50\n'
        + "".join(f"[[stages]]\npercent = {percent}\nmin_committed = {least}\nsoak_minutes = 0\n" for percent, least in stages)
    )
    command = [program, "fleet", "rollout"]
    # After the index that the simulated channel has: 2026-11-22.
    key, root = folder / "channel.key", folder / "root.signed"
    sign = ["sign", plan, "--key", key, "--trust", root, "--created", "1795305660", "--days", "3650"]
    said = subprocess.run([*command, *sign], stdout=subprocess.PIPE, check=True, text=True).stdout
    plan_hash = next(line.split()[1] for line in said.splitlines() if line.startswith("hash"))
    order("follow 100")
    code, text, seconds, memory = run([*command, "start", plan, "--dir", folder, "--hash", plan_hash])
    came = json.loads(child.stdout.readline())["came"]
    last = json.loads((folder / "plan.signed/decisions.jsonl").read_text().splitlines()[-1])
    if code != 1 or last["kind"] != "stop" or last["stage"] != 2:
        sys.exit(f"the rollout ended with {code}, and not by its condition: {text.decode()}{last}")
    # One device in 10,000 places for each: none of the third stage.
    if came["highest_place"] >= 4000 or came["failed"] > limit + came["in_flight"]:
        sys.exit(f"failed_count was {limit}, and {came}")
    return {
        "rollout_s": round(seconds, 1),
        "rollout_mib": round(memory, 1),
        "rollout_limit": limit,
        "rollout_known": len(last["devices"]),
        "rollout_failed": came["failed"],
        "rollout_in_flight": came["in_flight"],
        "rollout_touched": came["touched"],
    }


def measure(simulator, program, count, foreign, with_rollout):
    child = subprocess.Popen([simulator, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ready = json.loads(child.stdout.readline())

    def order(text):
        child.stdin.write(text + "\n")
        child.stdin.flush()

    server = ready["server"]
    told = {
        "devices": count,
        "enrol_s": round(ready["enrol_seconds"], 2),
        "connect_s": round(ready["connect_seconds"], 2),
        "broker_cpu_s": round(processor_seconds(server), 2),
        "broker_mib": round(memory_mib(server), 1),
        "simulator_mib": round(memory_mib(child.pid), 1),
    }
    code, text, seconds, memory = run([program, "fleet", "status", "--dir", ready["dir"], "--json"])
    answer = json.loads(text)
    if code != 0 or answer["summary"]["good"] != count:
        sys.exit(f"{count} devices, and fleet status says {answer['summary']} (exit code {code})")
    told["status_s"] = round(seconds, 2)
    told["status_mib"] = round(memory, 1)

    if foreign:
        lines = subprocess.run([sys.executable, foreign, ready["dir"]], stdout=subprocess.PIPE, check=True).stdout.splitlines()
        names = {json.loads(line)["name"] for line in lines}
        if names != {device["name"] for device in answer["devices"]}:
            sys.exit(f"{foreign} read {len(names)} of {count} statuses")
        told["foreign"] = len(names)
        log = subprocess.run([sys.executable, foreign, ready["dir"], "log"], stdout=subprocess.PIPE, check=True).stdout
        if [json.loads(line)["kind"] for line in log.splitlines()] != ["update"]:
            sys.exit(f"{foreign} read in the log: {log}")

    watch = subprocess.Popen(
        [program, "fleet", "watch", "--dir", ready["dir"], "--json"], stdout=subprocess.PIPE, text=True
    )
    # As long as `status` took, and a second more: it has read everything by then.
    number = 0
    waits = []
    time.sleep(seconds + 1)
    while len(waits) < CHANGES:
        number += 1
        begun = time.monotonic()
        order(f"change device-{count // 2} 3.0.{number}")
        if f"3.0.{number}" not in watch.stdout.readline():
            sys.exit("the watch told something else than the change")
        waits.append(time.monotonic() - begun)
        child.stdout.readline()
    told["change_ms_worst"] = round(max(waits) * 1000, 1)
    told["watch_mib"] = round(memory_mib(watch.pid), 1)
    watch.kill()
    watch.wait()

    before = processor_seconds(server)
    begun = time.monotonic()
    order(f"flap {count}")
    child.stdout.readline()
    told["all_report_s"] = round(time.monotonic() - begun, 2)
    told["all_report_broker_cpu_s"] = round(processor_seconds(server) - before, 2)
    if with_rollout:
        told |= rollout(program, count, pathlib.Path(ready["dir"]), order, child)
    begun = time.monotonic()
    order("restart")
    server = json.loads(child.stdout.readline())["server"]
    told["return_s"] = round(time.monotonic() - begun, 1)
    told["return_broker_cpu_s"] = round(processor_seconds(server), 2)
    child.stdin.close()
    child.wait()
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("--foreign")
    parser.add_argument("--rollout", action="store_true")
    parser.add_argument("simulator")
    parser.add_argument("program")
    parser.add_argument("counts", type=int, nargs="+")
    args = parser.parse_args()
    for count in args.counts:
        told = measure(args.simulator, args.program, count, args.foreign, args.rollout)
        print(json.dumps(told), flush=True)
        over = {name: told[name] for name, most in LIMITS.items() if told[name] > most}
        if args.limits and over:
            sys.exit(f"{count} devices: above the limits {LIMITS}: {over}")


if __name__ == "__main__":
    main()
