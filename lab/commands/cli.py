# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``lab`` command: builds kernels, boots guests, runs experiments, draws reports."""

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from lab.errors import LabError
from lab.kernels import toolchain

COMMANDS = {
    "kernel": "build kernels",
    "boot": "boot an initramfs, with its console on standard output",
    "test": "run the test suite",
    "soak": "churn timers on the debug kernels",
    "patches": "check the kernel patches: style, warnings, and that each builds by itself",
    "defects": "check that the tests catch bugs injected into the kernel",
    "deb": "build Debian packages of a shielded kernel",
}
OF_EXPERIMENTS = {
    "demo": "run timershield prove in a guest, shield off and on",
    "run": "run experiments, or what a row of the papers' table needs; keep raw samples",
    "check": "judge results by the goals; whether the papers' table is of this tree",
    "report": "draw one self-contained page from the samples",
    "evaluate": "run all experiments and draw one report",
    "papers": "write the papers' figures next to ours into experiments/README.md",
    "figures": "measure the demo; write its table and picture into README",
}
"""Each is a module of lab/commands or experiments/commands: ``add(parser)`` adds its arguments,
``run(arguments)`` is the verb.
"""
VERBS = COMMANDS | OF_EXPERIMENTS
ENDING = (signal.SIGTERM, signal.SIGHUP)


def _command(argv: Sequence[str] | None) -> int:
    """Understand the words, and run the verb that they begin with."""
    top = argparse.ArgumentParser(
        prog="lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="verbs:\n" + "\n".join(f"  {n:10} {what}" for n, what in VERBS.items()))
    top.add_argument("verb", choices=VERBS, metavar="VERB")
    top.add_argument("words", nargs=argparse.REMAINDER, metavar="...")
    chosen = top.parse_args(argv)
    home = "experiments" if chosen.verb in OF_EXPERIMENTS else "lab"
    command = importlib.import_module(f"{home}.commands.{chosen.verb}")
    parser = argparse.ArgumentParser(prog=f"lab {chosen.verb}", description=VERBS[chosen.verb])
    command.add(parser)
    status: int = command.run(parser.parse_args(chosen.words))
    return status


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # once: a lost terminal sends SIGHUP twice, and what is to be put back has to be
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit status."""
    for ending in ENDING:
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, _interrupt)
    try:
        status = _command(argv)
        sys.stdout.flush()
        return status
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        words = toolchain.without_module(error.name)
        if words is None:
            raise
        print(f"lab: {words}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # the reader has enough; Python is not to complain when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        with contextlib.suppress(OSError):  # the terminal may be what was lost
            print("lab: interrupted", file=sys.stderr)
        return 128 + next(iter(interrupt.args), signal.SIGINT)
