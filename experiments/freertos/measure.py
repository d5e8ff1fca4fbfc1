# SPDX-License-Identifier: GPL-2.0-or-later
"""Build FreeRTOS with each load, run it in QEMU, and print a table of what its jobs took."""

import csv
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
OUT = HERE.parents[1] / "build" / "freertos"
LOADS = {"none": "no load", "timers-500": "500 timers, 1 to 10 ms",
         "threads-200": "200 sleeping tasks, 1 to 10 ms"}
MACHINE = ("qemu-system-arm", "-machine", "mps2-an386", "-icount", "shift=0,sleep=off",
           "-display", "none", "-monitor", "none", "-serial", "stdio",
           "-semihosting-config", "enable=on,target=native", "-kernel")


def jobs(load: str) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Each job's figures by column, and how many timers or tasks expired meanwhile."""
    done = subprocess.run([*MACHINE, str(OUT / f"{load}.elf")], capture_output=True, text=True,
                          check=True, timeout=600)
    *lines, (_, served) = csv.reader(done.stdout.splitlines())
    columns = np.array(lines[1:], dtype=np.int64).T
    return dict(zip(lines[0], columns, strict=True)), int(served)


def main() -> None:
    """Print the table."""
    subprocess.run(["make", "-s", "-C", str(HERE), f"O={OUT}"], check=True)
    print("| load | expiries | response p50 (µs) | p99 | max | latency max | interruptions a job |")
    print("|---|---|---|---|---|---|---|")
    for load, title in LOADS.items():
        found, served = jobs(load)
        response = found["response_ns"] / 1000
        print(f"| {title} | {served:,} | {np.percentile(response, 50):.2f} "
              f"| {np.percentile(response, 99):.2f} | {response.max():.2f} "
              f"| {found['latency_ns'].max() / 1000:.2f} | {found['interruptions'].mean():.1f} |")


if __name__ == "__main__":
    main()
