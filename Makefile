# SPDX-License-Identifier: GPL-2.0-or-later
#
# The front door. Everything is built below build/; "make help" lists the targets.

PYTHON := $(if $(wildcard /usr/bin/python3),/usr/bin/python3,python3)
LAB := $(PYTHON) -m lab
VENV := build/venv
TEST_LAB := $(VENV)/bin/python -m lab
ARCH ?= x86_64
FLAVOUR ?= preempt
LINUX ?=
VARIANT ?= shielded
SECONDS ?= 600
KERNELS ?=
CONFIG ?=
LOCAL ?=
KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
PARTS ?=
export DESTDIR
comma := ,
space := $(subst ,, )
QUICK_KERNEL := debian12/6.12-module
NIGHTLY := $(foreach v,6.12 7.3,$(foreach f,preempt rt,$(foreach k,stock shielded debug module,\
	$v/x86_64-$f-$k)) $v/arm64-preempt-shielded) 7.3/x86_64-lazy-shielded \
	$(foreach k,12/6.1 12/6.12 12/6.12-rt 13/7.3 13/7.3-rt,debian$k debian$k-module) \
	debian12/6.12-arm64
export PYTHONDONTWRITEBYTECODE := 1

ifeq ($(shell test -x kernel/apply && echo yes),)
$(error This checkout lacks its symbolic links, such as kernel/apply. Do "git config core.symlinks \
	true" and "git checkout ." on a file system that has them)
endif

help:
	@sed -n 's/^#: \?//p' Makefile

#: Try (Debian 12 or 13; installs the Debian packages that it needs)
#:   make demo           "timershield prove" in a guest: a 1 kHz control loop next to timers of
#:                       others, the shield off and on; build/demo/report.html. MODULE=1: with
#:                       the module, on Debian's own kernel, in two minutes;
#:                       build/demo/module/report.html
demo:
	@lab/setup $(if $(MODULE),module-demo,$(LINUX:%=linux-%) demo)
	@$(LAB) demo $(LINUX:%=--linux %) $(if $(MODULE),--module)

#:
#: Build
#:   make module         the shield as a module for the running kernel; KDIR= names other headers
module:
	@test -e $(KDIR)/Makefile || { echo "no kernel headers in $(KDIR):" \
		"apt-get install linux-headers-$$(uname -r), or KDIR=DIR" >&2; exit 1; }
	@release=$$(cat $(KDIR)/include/config/kernel.release 2>/dev/null || uname -r); \
	case $$release in 6.1.*|6.12.*|7.2.*|7.3.*) ;; *) echo "Linux $$release is not supported:" \
		"the module is for Linux 6.1, 6.12, 7.2 and 7.3" >&2; exit 1;; esac
	@mkdir -p build/module && cp kernel/module/Kbuild kernel/module/*.[ch] build/module
	@$(MAKE) -C $(KDIR) M=$(CURDIR)/build/module modules

#:   make kernel         one kernel, for the lab: ARCH=x86_64|arm64 FLAVOUR=rt|preempt|lazy
#:                       (lazy: 7.3 only) VARIANT=stock|shielded|debug; build/kernel/
kernel:
	@lab/setup $(LINUX:%=linux-%) $(ARCH)
	@$(LAB) kernel $(LINUX:%=--linux %) $(ARCH)-$(FLAVOUR)-$(VARIANT)

#:   make install        the command and the library: PREFIX=/usr/local DESTDIR=;
#:                       PARTS=command: the command alone
install:
	@lab/setup install
	@packaging/install "$(PREFIX)" $(PARTS)

#:   make clean          remove what was built, except kernels; distclean: kernels, too
clean:
	rm -rf build/guest build/demo build/test build/logs build/queue-tests
	rm -rf build/clockfix build/clockfix-test build/command build/command-test build/install
	rm -rf build/packages build/packages-test

distclean:
	rm -rf build

#:
#: Test
#:   make setup          install what lint, check and soak need; test does so by itself
setup: $(VENV)/ready

# numpy, matplotlib, rich and pytest are the distribution's; the checkers are
# pinned, for their verdict depends on their version
$(VENV)/ready: lab/setup pyproject.toml
	@lab/setup test x86_64 arm64
	@$(PYTHON) -m venv --system-site-packages $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check ruff==0.8.4 mypy==1.14.1
	@touch $@

#:   make quick          in two minutes: lint, unit tests, and four suites with the module on
#:                       Debian's kernel; builds no kernel
quick: $(VENV)/ready
	@lab/setup module-demo
	@$(MAKE) -s lint >build/lint.txt 2>&1 & lint=$$!; \
	$(VENV)/bin/python -m pytest -q lab experiments tests/suites.toml \
		--kernels $(QUICK_KERNEL) --suites mask,release,hold,priority; tests=$$?; \
	wait $$lint || { cat build/lint.txt; exit 1; }; exit $$tests

#:   make test           unit tests; guests with the module on Debian's kernel, without it, and on
#:                       one kernel that it builds. Installs the Debian packages that it needs
test: $(VENV)/ready
	@$(TEST_LAB) test $(LINUX:%=--linux %) $(if $(KERNELS),--kernels $(KERNELS))

#:   make nightly        all versions and flavours, sanitizers, each patch by itself, soak,
#:                       evaluate, packages-test: hours
nightly: $(VENV)/ready
	@lab/setup patches cross
	@$(VENV)/bin/python -m pytest -q -m nightly tests/test_host.py
	@$(TEST_LAB) test --guests-only --kernels $(subst $(space),$(comma),$(NIGHTLY))
	@$(TEST_LAB) patches --linux 6.12
	@$(TEST_LAB) patches --linux 7.3
	@$(MAKE) soak evaluate packages-test

#:   make lint           ruff, mypy, shellcheck, checkpatch
lint: tools shellcheck
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/mypy
	@$(TEST_LAB) patches --style-only $(LINUX:%=--linux %)

shellcheck:
	@shellcheck -S warning $$(grep -rlIE -m1 '^#!/bin/(ba)?sh' .ci clockfix command lab packaging)

#:   make check          the tests that boot no kernel: unit tests, queue, libclockfix, command
check: tools
	@lab/setup test x86_64 arm64
	@$(TEST_LAB) test --host-only

#:   make soak           timer churn on the debug kernels for SECONDS=600 of guest time
soak: tools
	@lab/setup test x86_64 arm64
	@$(TEST_LAB) soak $(LINUX:%=--linux %) --seconds $(SECONDS)

#:   make evaluate       all experiments; build/report.html. QUICK=1: a tenth of the
#:                       samples; GUESTS=1: one guest at a time
evaluate:
	@lab/setup $(LINUX:%=linux-%) evaluate x86_64 $(if $(filter-out x86_64%,$(subst $(comma), ,$(KERNELS))),arm64)
	@$(LAB) evaluate $(LINUX:%=--linux %) $(if $(QUICK),--quick) $(if $(KERNELS),--kernels $(KERNELS)) \
		$(if $(GUESTS),--guests $(GUESTS))

#:   make figures        measure again what README and docs/ quote; writes docs/figures.json,
#:                       docs/demo.svg and the figures in these texts
figures:
	@lab/setup module-demo
	@$(LAB) figures

tools:
	@test -e $(VENV)/ready || { echo "ruff and mypy are missing; to install them: make setup" >&2; \
		exit 1; }
	@command -v shellcheck >/dev/null || { echo "shellcheck is missing; to install it:" \
		"apt-get install shellcheck" >&2; exit 1; }

#:
#: Package
#:   make packages       Debian packages of the command, the library and the module;
#:                       build/packages/
packages:
	@lab/setup packages
	@packaging/build

#:   make packages-test  install, upgrade and purge them in chroots of Debian 12 and 13
packages-test:
	@lab/setup packages-test
	@packaging/test

#:   make deb            Debian packages of a shielded kernel with this machine's configuration,
#:                       or with CONFIG=; LOCAL=1: only modules that are loaded now
deb:
	@lab/setup $(LINUX:%=linux-%) deb
	@$(LAB) deb $(LINUX:%=--linux %) $(if $(CONFIG),--config $(CONFIG)) $(if $(LOCAL),--local-modules)

#:
#: Variables
#:   LINUX=7.3           this version of Linux instead of 6.12 (test, soak: instead of both)
#:   KERNELS=…           test, evaluate: x86_64-preempt, arm64, all …
#:   KERNEL_SOURCE=…     a tree or tarball of Linux, where Debian's package is not at hand

.PHONY: help demo quick test nightly check lint shellcheck tools setup kernel module evaluate figures soak deb \
	packages packages-test install clean distclean
.DEFAULT_GOAL := help
