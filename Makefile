# SPDX-License-Identifier: GPL-2.0-or-later
#
# The front door. Everything is built below build/; "make help" says what there is.

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
export DESTDIR
comma := ,
export PYTHONDONTWRITEBYTECODE := 1

help:
	@sed -n 's/^#: //p' Makefile

#: LINUX=7.3        for demo, test, kernel, evaluate, soak, deb: this version of Linux
#:                  instead of 6.12 (test, soak: instead of both)
#: make demo        shield off and on beside a 1 kHz control loop; build/demo/report.html;
#:                  MODULE=1: Debian's own kernel without and with the module, in two
#:                  minutes; build/demo/module/report.html
demo:
	@lab/setup $(if $(MODULE),module-demo,$(LINUX:%=linux-%) demo)
	@$(LAB) demo $(LINUX:%=--linux %) $(if $(MODULE),--module)

#: make test        the whole test suite; its last line is "N passed, N failed"
test: $(VENV)/ready
	@$(TEST_LAB) test $(LINUX:%=--linux %) $(if $(KERNELS),--kernels $(KERNELS))

#: make check       the tests that need no kernel: unit tests, linters, queue, libclockfix
check: $(VENV)/ready
	@$(TEST_LAB) test --host-only

#: make kernel      build one kernel: LINUX=6.12|7.3 ARCH=x86_64|arm64
#:                  FLAVOUR=rt|preempt|lazy (lazy: 7.3 only) VARIANT=stock|shielded|debug;
#:                  it is left in build/kernel/$LINUX/
kernel:
	@lab/setup $(LINUX:%=linux-%) $(ARCH)
	@$(LAB) kernel $(LINUX:%=--linux %) $(ARCH)-$(FLAVOUR)-$(VARIANT)

#: make module      the shield for the running kernel as a module; KDIR=: for other headers
module:
	@test -e $(KDIR)/Makefile || { echo "no kernel headers in $(KDIR):" \
		"apt-get install linux-headers-$$(uname -r)" >&2; exit 1; }
	@mkdir -p build/module && cp kernel/module/Kbuild kernel/module/*.[ch] build/module
	@$(MAKE) -C $(KDIR) M=$(CURDIR)/build/module modules

#: make evaluate    all experiments; build/evaluation/report.html and results.json;
#:                  KERNELS=x86_64-preempt, arm64, all …: on which kernels (x86_64);
#:                  QUICK=1: a tenth of the samples; GUESTS=1: one guest at a time
evaluate:
	@lab/setup $(LINUX:%=linux-%) evaluate x86_64 $(if $(filter-out x86_64%,$(subst $(comma), ,$(KERNELS))),arm64)
	@$(LAB) evaluate $(LINUX:%=--linux %) $(if $(QUICK),--quick) $(if $(KERNELS),--kernels $(KERNELS)) \
		$(if $(GUESTS),--guests $(GUESTS))

#: make soak        timer churn on the debug kernels for SECONDS of guest time
soak: $(VENV)/ready
	@$(TEST_LAB) soak $(LINUX:%=--linux %) --seconds $(SECONDS)

#: make deb         Debian packages of a shielded kernel with this machine's configuration,
#:                  or with CONFIG=; LOCAL=1: only modules that are loaded now
deb:
	@lab/setup $(LINUX:%=linux-%) deb
	@$(LAB) deb $(LINUX:%=--linux %) $(if $(CONFIG),--config $(CONFIG)) $(if $(LOCAL),--local-modules)

#: make packages    Debian packages of the command and the library; build/packages/
packages:
	@lab/setup packages
	@packaging/build

#: make packages-test  install, upgrade and purge them in chroots of Debian 12 and 13
packages-test:
	@lab/setup packages-test
	@packaging/test

#: make install     the command and the library without a package: PREFIX=/usr/local, DESTDIR=
install:
	@lab/setup install
	@packaging/install "$(PREFIX)"

#: make clean       remove what was built, except the kernel trees
clean:
	rm -rf build/guest build/demo build/test build/logs build/queue-tests
	rm -rf build/clockfix build/clockfix-test build/command build/command-test build/install
	rm -rf build/packages build/packages-test

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

.PHONY: help demo test check kernel module evaluate soak deb packages packages-test install clean distclean
.DEFAULT_GOAL := help
