# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``lab`` command as a shell sees it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import papers, registry
from experiments.commands import run
from lab.commands import cli
from lab.paths import REPO


def _lab(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "lab", *words], cwd=REPO, capture_output=True,
                          text=True, check=False)


def test_a_reader_that_has_enough_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "lab", "check"], cwd=REPO, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 141)    # 0: there was nothing to say


@pytest.mark.parametrize("module", ["rich", "numpy", "matplotlib"])
def test_a_missing_module_is_named_with_its_package(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text(
        f"raise ModuleNotFoundError('No module named {module}', name='{module}')\n")
    done = subprocess.run(
        [sys.executable, "-m", "lab", "report", "--results", str(tmp_path)], cwd=REPO,
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert f"apt-get install -y python3-{module}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("experiment", [e.name for e in registry.EXPERIMENTS])
def test_a_mistyped_scenario_is_refused_before_anything_runs(
    experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = list(registry.find(experiment).scenarios())
    results = tmp_path / "results"
    assert cli.main(["run", experiment, "--scenarios", f"{known[0]},typo",
                     "--results", str(results)]) == 1
    assert capsys.readouterr().err == (
        f"lab: there is no scenario 'typo': there are {', '.join(known)}\n")
    assert not results.exists()


@pytest.mark.parametrize("row", [r.number for lines in papers.papers().values() for r in lines
                                 if papers.judges(r.number)])
def test_a_row_names_scenarios_of_the_experiment_that_measures_it(row: str) -> None:
    [experiment], scenarios = run.chosen([row], [])
    assert set(scenarios) <= experiment.scenarios().keys()


@pytest.mark.parametrize(("words", "complaint"), [
    (["run", "code-size", "--modes", "on"], "there is no mode 'on': there are stock, off"),
    (["run", "code-size", "--kernels", "sparc"], "no kernel matches 'sparc'"),
    (["run", "code-size", "--jobs", "-3"], "argument --jobs: '-3' is not a number from 1 up"),
    (["run", "hostile", "code-size", "--scenarios", "none"],
     "code-size has no scenario 'none': there are sizes"),
    (["run", "context-switch", "--target", "host"], "context-switch runs in guests only: it"),
    (["test", "--suites", "mask,nonsense"], "there is no suite 'nonsense': there are mask,"),
    (["test", "--kernels", "sparc"], "kernel 'sparc': architecture 'sparc'"),
    (["soak", "--suites", "mask"], "there is no suite 'mask': there are churn, churn-levels"),
    (["defects", "--only", ","], "argument --only: ',' names nothing"),
    (["run", "T16"], "nothing measures row T16: see experiments/README.md"),
    (["run", "hostile", "--scenarios", ""], "argument --scenarios: '' names nothing"),
    (["soak", "--seconds", "0"], "argument --seconds: '0' is not a number from 1 up"),
    (["run", "code-size", "--results", "/proc/none"], "/proc/none"),
])
def test_nothing_runs_before_the_words_are_understood(words: list[str], complaint: str) -> None:
    done = _lab(*words)
    assert done.returncode
    assert complaint in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
