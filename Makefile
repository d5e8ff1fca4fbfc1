# SPDX-License-Identifier: GPL-2.0-or-later
#
# The front door. Everything is built below build/; "make help" says what there is.

PYTHON := $(if $(wildcard /usr/bin/python3),/usr/bin/python3,python3)
LAB := $(PYTHON) -m lab
VENV := build/venv
TEST_LAB := $(VENV)/bin/python -m lab
ARCH ?= x86_64
FLAVOUR ?= preempt
VARIANT ?= shielded
SECONDS ?= 600
KERNELS ?=
CONFIG ?=
LOCAL ?=
comma := ,
export PYTHONDONTWRITEBYTECODE := 1

help:
	@sed -n 's/^#: //p' Makefile

#: make demo        shield off and on beside a 1 kHz control loop; build/demo/report.html
demo:
	@lab/setup demo
	@$(LAB) demo

#: make test        the whole test suite; its last line is "N passed, N failed"
test: $(VENV)/ready
	@$(TEST_LAB) test $(if $(KERNELS),--kernels $(KERNELS))

#: make check       the tests that need no kernel: unit tests, linters, queue, libclockfix
check: $(VENV)/ready
	@$(TEST_LAB) test --host-only

#: make kernel      build one kernel: ARCH=x86_64|arm64 FLAVOUR=rt|preempt
#:                  VARIANT=stock|shielded|debug; it is left in build/kernel/
kernel:
	@lab/setup $(ARCH)
	@$(LAB) kernel $(ARCH)-$(FLAVOUR)-$(VARIANT)

#: make evaluate    all experiments; build/evaluation/report.html and results.json;
#:                  KERNELS=x86_64-preempt, arm64, all …: on which kernels (x86_64);
#:                  QUICK=1: a tenth of the samples; GUESTS=1: one guest at a time
evaluate:
	@lab/setup evaluate x86_64 $(if $(filter-out x86_64%,$(subst $(comma), ,$(KERNELS))),arm64)
	@$(LAB) evaluate $(if $(QUICK),--quick) $(if $(KERNELS),--kernels $(KERNELS)) \
		$(if $(GUESTS),--guests $(GUESTS))

#: make soak        timer churn on the debug kernels for SECONDS of guest time
soak: $(VENV)/ready
	@$(TEST_LAB) soak --seconds $(SECONDS)

#: make deb         Debian packages of a shielded kernel with this machine's configuration,
#:                  or with CONFIG=; LOCAL=1: only modules that are loaded now
deb:
	@lab/setup deb
	@$(LAB) deb $(if $(CONFIG),--config $(CONFIG)) $(if $(LOCAL),--local-modules)

#: make clean       remove what was built, except the kernel trees
clean:
	rm -rf build/guest build/demo build/test build/logs build/queue-tests
	rm -rf build/clockfix build/clockfix-test build/tools build/tools-test

#: make distclean   remove everything that was built
distclean:
	rm -rf build

# numpy, matplotlib, rich and pytest are the distribution's; the checkers are
# pinned, for their verdict depends on their version
$(VENV)/ready: lab/setup pyproject.toml
	@lab/setup test x86_64 arm64
	@$(PYTHON) -m venv --system-site-packages $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check ruff==0.8.4 mypy==1.14.1
	@touch $@

.PHONY: help demo test check kernel evaluate soak deb clean distclean
.DEFAULT_GOAL := help
