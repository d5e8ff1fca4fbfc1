# SPDX-License-Identifier: GPL-2.0-or-later
"""What the experiments make of samples: sizes, switches, losses, where the shield pays."""

from pathlib import Path

from experiments import base, compare
from experiments.cost import code_size, context_switch, switch_section
from experiments.response import claims as response_claims
from experiments.response import hostile, low_priority
from lab.kernels import object_sizes
from lab.measure.results import Store, write_meta
from lab.measure.systems import Mode, Platform, System
from lab.unit_tests.described import described

STOCK, SHIELDED = "x86_64-rt-stock", "x86_64-rt-shielded"


def write(root: Path, experiment: str, system: str, scenarios: dict[str, dict[str, str]]) -> Store:
    store = Store(root, experiment)
    with store.replacing(system) as directory:
        for name, files in scenarios.items():
            (directory / name).mkdir()
            for file, text in {"summary.csv": "name,value\n", **files}.items():
                (directory / name / file).write_text(text)
        write_meta(directory, {"system": described(system), "scenarios": list(scenarios),
                               "titles": {n: n for n in scenarios},
                               "kernel": "Linux", "time": "counted", "target": "guest"})
    return store


def column(name: str, values: list[int]) -> str:
    return f"{name}\n" + "".join(f"{v}\n" for v in values)


def test_a_module_that_is_off_was_loaded_and_is_unloaded() -> None:
    def first(mode: Mode) -> list[tuple[str, ...]]:
        system = System(Platform("x86_64", "preempt", debian="12"), mode)
        modules = [Path("timershield-bases.ko"), Path("timershield.ko")]
        return [c.words for c in base.before(system, modules, cpus=1)]

    assert first(Mode.OFF) == [*first(Mode.MODULE), ("@unload", "timershield")]


def test_sections_are_told_apart() -> None:
    sizes = object_sizes.parse("""
File: a.o
There are 9 section headers, starting at offset 0x5a0:

  [Nr] Name              Type            Address          Off    Size   ES Flg Lk Inf Al
  [ 0]                   NULL            0000000000000000 000000 000000 00      0   0  0
  [ 1] .text             PROGBITS        0000000000000000 000040 0000a3 00  AX  0   0 16
  [ 2] .init.text        PROGBITS        0000000000000000 000040 000010 00  AX  0   0 16
  [ 3] .rela.text        RELA            0000000000000000 000380 000048 18   I 16   1  8
  [ 4] .data             PROGBITS        0000000000000000 000340 000008 00  WA  0   0  8
  [ 5] .bss              NOBITS          0000000000000000 000340 000021 00  WA  0   0  8
  [ 6] .data..percpu     PROGBITS        0000000000000000 000340 000040 00  WA  0   0  8
  [ 7] .rodata.str1.1    PROGBITS        0000000000000000 000340 000003 01 AMS  0   0  1
  [ 8] .discard.addressable PROGBITS     0000000000000000 000340 000008 00  WA  0   0  8
  [10] .comment          PROGBITS        0000000000000000 000340 000008 00  MS  0   0  8
""".splitlines())
    assert sizes == {"a.o": {"text": 0xb3, "rodata": 3, "data": 8, "bss": 0x21, "percpu": 0x40}}


def test_every_patch_and_new_file_is_in_an_object() -> None:
    changed = object_sizes.changed("6.12")
    assert {"kernel/time/hrtimer.o", "kernel/time/timershield.o"} <= changed


def test_what_patches_change_counts_in_full(tmp_path: Path) -> None:
    head = "object,feature,text,rodata,data,bss,percpu\n"
    write(tmp_path, "code-size", STOCK, {"sizes": {
        "objects.csv": head + "a.o,TimerShield,10,0,0,0,0\n"}})
    store = write(tmp_path, "code-size", SHIELDED, {"sizes": {"objects.csv": head + (
        "a.o,TimerShield,110,0,0,0,0\nb.o,TimerShield,9000,0,0,0,5\nc.o,neither,9000,0,0,0,0\n")}})
    goals = code_size.EXPERIMENT.goals(store)
    assert [g.met for g in goals] == [False, True]
    assert goals[0].found.startswith("9,100 bytes")


def spans_csv(switch: list[tuple[int, int]]) -> str:
    rows = [f"switch,{b},{n}" for b, n in switch]
    return "span,begin,instructions\n" + "\n".join(rows) + "\n"


def summary(elapsed: int) -> str:
    return f"name,value\nrounds,10\ndone_each,1\nelapsed_ns,{elapsed}\n"


def test_a_switch_that_takes_more_is_a_miss(tmp_path: Path) -> None:
    rounds = {"rounds.csv": column("round_ns", [100] * 10)}
    before = {"spans.csv": spans_csv([(0, 900)] * 3), "summary.csv": summary(1000), **rounds}
    after = {"spans.csv": spans_csv([(0, 1000), (5000, 1000), (10000, 1000)]),
             "summary.csv": summary(1020), **rounds}
    write(tmp_path, "context-switch", STOCK, {"fair": before, "job-none": before})
    store = write(tmp_path, "context-switch", SHIELDED, {"fair": after, "job-none": after})
    assert switch_section.added(store[STOCK], store[SHIELDED], "job-none") == 100
    level, *_, throughput = context_switch.EXPERIMENT.goals(store)
    assert "tasks of one level" in level.claim
    assert not level.met
    assert not throughput.met
    assert "0.9804" in throughput.found


def test_what_scatters_too_much_is_not_judged(tmp_path: Path) -> None:
    for system, rounds in ((STOCK, [100, 102] * 5), (SHIELDED, [130, 90] * 5)):
        store = write(tmp_path, "context-switch", system, {"messages": {
            "spans.csv": spans_csv([(0, 900)]), "summary.csv": summary(sum(rounds)),
            "rounds.csv": column("round_ns", rounds)}})
    assert switch_section.error(store[STOCK], store[SHIELDED], "messages") > context_switch.SCATTER
    assert context_switch._rates(store[STOCK], store[SHIELDED]) == {}


def test_the_typical_switch_is_not_moved_by_outliers_nor_by_which_kind_is_the_median(
    tmp_path: Path
) -> None:
    kinds = [(0, 700)] * 20 + [(0, 1100)] * 20
    write(tmp_path, "context-switch", STOCK, {"fifo-fifo": {
        "spans.csv": spans_csv([*kinds, (0, 1100)])}})
    store = write(tmp_path, "context-switch", SHIELDED, {"fifo-fifo": {
        "spans.csv": spans_csv([(b, n + 30) for b, n in [*kinds, (0, 700)]] + [(0, 90000)])}})
    assert abs(switch_section.added(store[STOCK], store[SHIELDED], "fifo-fifo") - 30) < 12


def test_throughput_lost_to_hostile_timers(tmp_path: Path) -> None:
    jobs = column("products", [300, 300])
    lossy = column("products", [300, 299])
    write(tmp_path, "hostile", STOCK, {"matrix-none": {"jobs.csv": jobs},
                                       "matrix-timerfds-1000": {"jobs.csv": lossy}})
    store = write(tmp_path, "hostile", SHIELDED, {"matrix-none": {"jobs.csv": jobs},
                                                  "matrix-timerfds-1000": {"jobs.csv": lossy}})
    (goal,) = hostile.EXPERIMENT.goals(store)
    assert not goal.met
    assert abs(hostile.losses(store[STOCK])["timerfds-1000"] - 1 / 600) < 1e-12


def test_the_lowest_priority_task_is_the_last(tmp_path: Path) -> None:
    head = "task,due_ns,lateness_ns,response_ns\n"
    write(tmp_path, "low-priority", STOCK,
          {"medium-1": {"releases.csv": head + "0,0,0,9\n1,0,0,100\n1,0,0,300\n"}})
    store = write(tmp_path, "low-priority", SHIELDED,
                  {"medium-1": {"releases.csv": head + "0,0,0,99\n1,0,0,100\n1,0,0,301\n"}})
    assert low_priority.differences(store[STOCK], store[SHIELDED]) == {"medium-1": 0.5}
    (goal,) = low_priority.EXPERIMENT.goals(store)
    assert not goal.met


def test_the_shield_pays_from_where_it_stays_ahead(tmp_path: Path) -> None:
    means = {1: (100, 101), 2: (100, 99), 3: (100, 100), 4: (110, 100), 5: (120, 100)}
    for index, system in enumerate((STOCK, SHIELDED)):
        store = write(tmp_path, "response-time", system, {
            f"sync-{n}": {"jobs.csv": column("response_ns", [pair[index]])}
            for n, pair in means.items()})
    scenarios = response_claims.step_scenarios(True, list(means))
    assert response_claims.pays_from(store[STOCK], store[SHIELDED], scenarios) == 4
    assert response_claims.pays_from(store[STOCK], store[SHIELDED], {1: "sync-1"}) is None


def test_a_claim_has_a_line_for_each_platform_and_names_those_that_miss(tmp_path: Path) -> None:
    for platform in ("x86_64-rt", "x86_64-preempt"):
        for mode in ("stock", "shielded"):
            store = write(tmp_path, "x", f"{platform}-{mode}", {})
    (claim,) = compare.claim(store, "c", "p", lambda a, b: (a.name, "-rt-" in a.name),
                             "met", "missed")
    assert claim.ours.splitlines() == ["x86_64-preempt: x86_64-preempt-stock",
                                       "x86_64-rt: x86_64-rt-stock"]
    assert (claim.verdict, claim.outcome) == ("missed (on x86_64-preempt)", "missed")
    (claim,) = compare.claim(store, "c", "p", lambda a, b: (a.name, None), "see there", "")
    assert (claim.verdict, claim.outcome) == ("see there", "noted")
    assert compare.claim(store, "c", "p", lambda a, b: None, "met", "missed") == []
