// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A TCG plugin for QEMU: how many instructions lie between two places of a kernel.
 *
 * A span begins when an instruction at one of its entries is executed and ends
 * at one of its exits, usually the instruction behind a call. Everything that the
 * kernel executes between is counted, whatever functions it is in; user space is
 * not. The guest does not notice: its time and its instructions stay the same.
 *
 *	-plugin spans.so,marks=FILE,out=FILE
 *
 * A line of the marks file is a letter, an address and a number, both hexadecimal:
 *
 *	e ADDRESS SPAN	the span begins here
 *	x ADDRESS SPAN	and ends here
 *	i ADDRESS SPAN	and is given up if it is open here (interrupts)
 *	w ADDRESS 0	recording begins, and the next time ends, here
 *
 * The output has a line "WINDOW,SPAN,CPU,BEGIN,INSTRUCTIONS" for each span: which of the
 * recordings it was in, on which virtual CPU, how many kernel instructions that one had
 * executed since the guest's start and executes in the span. A span that is begun again,
 * given up, or ends on another CPU is not in the output.
 *
 * Virtual CPUs have to take turns, as they do with -icount. QEMU's header for
 * plugins is in few distributions; what is declared here is the part of its
 * interface that has been the same since 6.0.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_MARKS 4096
#define MAX_SPANS 32
#define MAX_CPUS 8
#define KERNEL_BIT (1ull << 63)

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

typedef void (*vcpu_cb)(unsigned int vcpu, void *data);
typedef void (*tb_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*exit_cb)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_cb cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, vcpu_cb cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_cb cb, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			char **argv);

EXPORT int qemu_plugin_version = PLUGIN_API;

/* Several marks may be at one address; they follow each other in the array. */
struct mark {
	uint64_t address;
	unsigned int span;
	char kind;
};

struct span {
	uint64_t begin;
	int open;
};

struct cpu {
	uint64_t executed;
	struct span spans[MAX_SPANS];
};

static struct mark marks[MAX_MARKS];
static int mark_count;
static struct cpu cpus[MAX_CPUS];
static unsigned int windows;	/* odd: recording */
static FILE *out;

static int compare_marks(const void *_a, const void *_b)
{
	const struct mark *a = _a, *b = _b;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* what ends here ends before anything begins */
	return b->kind - a->kind;
}

static void close_spans(void)
{
	for (int i = 0; i < MAX_CPUS; i++)
		for (int j = 0; j < MAX_SPANS; j++)
			cpus[i].spans[j].open = 0;
}

static void pass(unsigned int vcpu, const struct mark *mark)
{
	struct span *span = &cpus[vcpu].spans[mark->span];
	uint64_t executed = cpus[vcpu].executed;

	switch (mark->kind) {
	case 'e':
		span->begin = executed;
		span->open = windows & 1;
		break;
	case 'x':
		if (span->open)
			fprintf(out, "%u,%u,%u,%llu,%llu\n", windows / 2, mark->span,
				vcpu, (unsigned long long)span->begin,
				(unsigned long long)(executed - span->begin));
		span->open = 0;
		break;
	case 'i':
		span->open = 0;
		break;
	default:
		windows++;
		close_spans();
	}
}

static void on_instruction(unsigned int vcpu, void *data)
{
	if (vcpu < MAX_CPUS)
		cpus[vcpu].executed++;
}

static void on_mark(unsigned int vcpu, void *data)
{
	const struct mark *mark = data;

	if (vcpu >= MAX_CPUS)
		return;
	for (uint64_t address = mark->address;
	     mark < marks + mark_count && mark->address == address; mark++)
		pass(vcpu, mark);
	cpus[vcpu].executed++;
}

static struct mark *find_mark(uint64_t address)
{
	int low = 0, high = mark_count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (marks[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mark_count && marks[low].address == address ? &marks[low] : NULL;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		struct mark *mark;

		if (!(address & KERNEL_BIT))
			return;
		mark = find_mark(address);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, mark ? on_mark : on_instruction,
						       QEMU_PLUGIN_CB_NO_REGS, mark);
	}
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	if (ferror(out) | fclose(out))
		fprintf(stderr, "spans: cannot write the output\n");
}

static int read_marks(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long address;
	unsigned int span;
	char kind;

	if (!file)
		return -1;
	while (fscanf(file, " %c %llx %x", &kind, &address, &span) == 3) {
		if (mark_count == MAX_MARKS || span >= MAX_SPANS) {
			fclose(file);
			return -1;
		}
		marks[mark_count++] = (struct mark){ address, span, kind };
	}
	fclose(file);
	qsort(marks, mark_count, sizeof(*marks), compare_marks);
	return mark_count ? 0 : -1;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "marks=", 6) && read_marks(argv[i] + 6)) {
			fprintf(stderr, "spans: %s: no marks, or too many\n", argv[i] + 6);
			return -1;
		}
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	}
	if (!mark_count || !out) {
		fprintf(stderr, "spans: needs marks= and a writable out=\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
