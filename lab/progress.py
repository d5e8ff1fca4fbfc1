# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress for the user: bars on a terminal, a line now and then in a log."""

import contextlib
import sys
import time
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichProgress

LOG_INTERVAL = 30.0
"""Seconds between two lines about the same bar when output is not a terminal."""


class Bar:
    """One thing that takes long."""

    def __init__(self, owner: "Progress", title: str, total: int | None) -> None:
        self._owner = owner
        self._title = title
        self._total = total
        self._done = 0
        self._start = self._last = time.monotonic()
        self._task: TaskID | None = None
        if owner.rich is not None:
            self._task = owner.rich.add_task(title, total=total)
        else:
            owner.step(f"{title} …")

    def advance(self, count: int = 1) -> None:
        """``count`` more of the things that the total counts are done."""
        self._done += count
        if self._total is not None and self._done > self._total:
            self._total = self._done
        if self._task is not None and self._owner.rich is not None:
            self._owner.rich.update(self._task, completed=self._done, total=self._total)
        elif time.monotonic() - self._last > LOG_INTERVAL:
            self._last = time.monotonic()
            of = f" of about {self._total}" if self._total else ""
            self._owner.step(f"{self._title}: {self._done}{of}")

    def close(self) -> None:
        """It is done, or given up."""
        seconds = time.monotonic() - self._start
        if self._task is not None and self._owner.rich is not None:
            self._owner.rich.remove_task(self._task)
        self._owner.step(f"{self._title}: {seconds:.0f} s")


class Progress:
    """Where everything that runs for more than a moment reports."""

    def __init__(self) -> None:
        self.console = Console(file=sys.stderr, highlight=False)
        self.rich: RichProgress | None = None

    def __enter__(self) -> "Progress":
        if self.console.is_terminal:
            self.rich = RichProgress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
            )
            self.rich.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.rich is not None:
            self.rich.stop()
            self.rich = None

    def step(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def bar(self, title: str, total: int | None) -> Iterator[Bar]:
        """A bar for as long as the ``with`` block lasts."""
        bar = Bar(self, title, total)
        try:
            yield bar
        finally:
            bar.close()
