// SPDX-License-Identifier: GPL-2.0-or-later
/* blame.bpf.c adds up in the kernel. */
#include "source.h"

#include "lib/file.h"
#include "blame.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define SIGNAL_RETURN "__x64_sys_rt_sigreturn"
#else
#define SIGNAL_RETURN "__arm64_sys_rt_sigreturn"
#endif

static struct blame_bpf *program;
static struct text complaint;
static u64 missed_before;
static struct bpf_link **links;
static size_t nr_links;

/* libbpf's last warnings tell why the kernel refused. */
static int keep_complaint(enum libbpf_print_level level, const char *format, va_list list)
{
	if (level == LIBBPF_WARN && complaint.length < 500)
		text_add_list(&complaint, format, list);
	return 0;
}

static bool has_timer_vector(void)
{
	autotext struct text device = { 0 };

	file_read_line("/sys/devices/system/clockevents/clockevent0/current_device", &device);
	return !strncmp(device.s, "lapic", 5);
}

/* Leaves out the programs of tracepoints that this kernel lacks, and of those not needed. */
static void choose_programs(const struct blame_config *config, const struct btf *btf)
{
	struct bpf_program *one;

	bpf_object__for_each_program(one, program->obj) {
		const char *section = bpf_program__section_name(one), *slash = strchr(section, '/');
		const char *event = slash ? slash + 1 : section;
		autofree char *type = format("btf_trace_%s", event);
		bool wanted = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;

		if (bpf_program__type(one) != BPF_PROG_TYPE_TRACING)	/* of perf, and probes */
			wanted = config->victims_are != VICTIMS_CPUS;
		if (!strcmp(event, "hrtimer_expire_exit") && has_timer_vector())
			wanted = false;
		if (one == program->progs.soft_expire_entry)
			wanted = config->realtime_kernel;
		if (config->victims_are == VICTIMS_CPUS &&
		    (!strcmp(event, "sched_wakeup") || !strcmp(event, "sched_migrate_task")))
			wanted = false;
		if (config->victims_are != VICTIMS_TARGETS && !strcmp(event, "sched_process_free"))
			wanted = false;
		bpf_program__set_autoload(one, wanted);
	}
}

/* Returns what to fail with. */
static int explain(int error, struct text *why)
{
	bool has_btf = file_exists("/sys/kernel/btf/vmlinux");

	if (!has_btf)
		text_add(why, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF); those of Debian, Ubuntu, Fedora and Arch have it, that of Raspberry Pi OS has not");
	else if (error == -EPERM && file_has("/sys/kernel/security/lockdown", "[confidentiality]"))
		text_add(why, "the kernel is locked down (confidentiality)");
	else if (error == -EPERM)
		text_add(why, "BPF needs root, or CAP_BPF and CAP_PERFMON");
	else
		text_add(why, "the kernel refuses the BPF program: %s",
			 complaint.length ? complaint.s : strerror(-error));
	text_chomp(why);
	return has_btf ? error : -EOPNOTSUPP;
}

static void keep(struct bpf_link *link)
{
	if (link)
		*append(links, nr_links) = link;
}

/* On all CPUs that are online: that a fault was served is an event of perf alone. */
static int attach_to(struct bpf_program *one, u64 event)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attributes), .config = event,
		.sample_period = 1,
	};

	for (int i = 0; i < libbpf_num_possible_cpus(); i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, i, -1,
				      PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(one, fd);

		if (fd < 0 && errno == ENODEV)		/* it is offline */
			continue;
		if (!link) {
			int ret = -errno;

			close(fd);
			return ret;
		}
		keep(link);
	}
	return 0;
}

static int attach(void)
{
	int ret = 0;

	if (bpf_program__autoload(program->progs.fault_entry)) {
		ret = attach_to(program->progs.fault_entry, PERF_COUNT_SW_PAGE_FAULTS);
		if (!ret)
			ret = attach_to(program->progs.fault_exit, PERF_COUNT_SW_PAGE_FAULTS_MIN);
		if (!ret)
			ret = attach_to(program->progs.fault_exit, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	}
	if (!ret)
		ret = blame_bpf__attach(program);
	/* without it handlers are work of the victim's */
	if (!ret)
		keep(bpf_program__attach_kprobe(program->progs.signal_return, false, SIGNAL_RETURN));
	return ret;
}

void source_attach_job(const char *file)
{
	LIBBPF_OPTS(bpf_uprobe_opts, begins, .func_name = "timershield_job_begins");
	LIBBPF_OPTS(bpf_uprobe_opts, late, .func_name = "timershield_job_is_late");

	keep(bpf_program__attach_uprobe_opts(program->progs.job_begins, -1, file, 0, &begins));
	keep(bpf_program__attach_uprobe_opts(program->progs.job_is_late, -1, file, 0, &late));
}

void source_stop(void)
{
	while (nr_links)
		bpf_link__destroy(links[--nr_links]);
	free(links);
	links = NULL;
	blame_bpf__destroy(program);
	program = NULL;
	text_free(&complaint);
}

void source_configure(const struct blame_config *config)
{
	program->bss->config = *config;
}

static int load(const struct blame_config *config, const struct btf *btf)
{
	int ret;

	program = blame_bpf__open();
	if (!program)
		return -errno;
	choose_programs(config, btf);
	ret = bpf_map__set_max_entries(program->maps.cpus, (u32)libbpf_num_possible_cpus());
	if (!ret)
		ret = blame_bpf__load(program);
	if (!ret) {
		source_configure(config);
		ret = attach();
	}
	return ret;
}

int source_start(const struct blame_config *config, struct text *why)
{
	struct btf *btf;
	int ret = -ENOENT;

	libbpf_set_print(keep_complaint);
	btf = btf__load_vmlinux_btf();
	if (btf)
		ret = load(config, btf);
	if (ret) {
		ret = explain(ret, why);
		source_stop();
	}
	btf__free(btf);
	return ret;
}

/* Nobody adds to it. From the first key each time would look at all that is empty by then. */
static void clear(struct bpf_map *map)
{
	size_t size = bpf_map__key_size(map);
	unsigned char key[sizeof(struct cause)], next[sizeof(key)];
	bool more = !bpf_map__get_next_key(map, NULL, next, size);

	while (more) {
		memcpy(key, next, size);
		more = !bpf_map__get_next_key(map, key, next, size);
		bpf_map__delete_elem(map, key, size, 0);
	}
}

static u64 recursion_misses(void)
{
	struct bpf_program *one;
	u64 misses = 0;

	bpf_object__for_each_program(one, program->obj) {
		struct bpf_prog_info info = { 0 };
		u32 size = sizeof(info);

		/* what one of these misses, the other one takes */
		if (one == program->progs.hrtimer_expire_entry ||
		    one == program->progs.soft_expire_entry ||
		    one == program->progs.csd_queue_cpu ||
		    one == program->progs.csd_queue_cpu_again ||
		    one == program->progs.sched_process_fork ||
		    one == program->progs.sched_process_fork_again)
			continue;
		if (bpf_program__fd(one) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(one), &info, &size))
			misses += info.recursion_misses;
	}
	return misses;
}

int source_reset(const struct blame_config *config)
{
	struct cpu *fresh = zeroed(1, sizeof(*fresh));
	u32 cpus = bpf_map__max_entries(program->maps.cpus);
	int ret = 0;

	program->bss->config.on = 0;
	clear(program->maps.rows);
	clear(program->maps.victims);
	clear(program->maps.targets);
	clear(program->maps.armed);
	clear(program->maps.works);
	clear(program->maps.jobs_of);
	missed_before = recursion_misses();
	for (u32 i = 0; i < cpus && !ret; i++)
		ret = bpf_map__update_elem(program->maps.cpus, &i, sizeof(i), fresh,
					   sizeof(*fresh), 0);
	memset(&program->bss->lost, 0, sizeof(program->bss->lost));
	source_configure(config);
	free(fresh);
	return ret;
}

int source_add_target(u32 id)
{
	u32 one = 1;

	return bpf_map__update_elem(program->maps.targets, &id, sizeof(id), &one, sizeof(one), 0);
}

int source_read(struct blame_figures *figures)
{
	struct cause key, *last = NULL;
	u32 id, *last_id = NULL;

	while (figures->row_count < MAX_ROWS &&
	       !bpf_map__get_next_key(program->maps.rows, last, &key, sizeof(key))) {
		struct blame_row row = { .cause = key };

		if (!bpf_map__lookup_elem(program->maps.rows, &key, sizeof(key), &row.row,
					  sizeof(row.row), 0))
			*append(figures->rows, figures->row_count) = row;
		last = &key;
	}
	while (figures->victim_count < MAX_VICTIMS &&
	       !bpf_map__get_next_key(program->maps.victims, last_id, &id, sizeof(id))) {
		struct blame_victim victim = { .id = id };

		if (!bpf_map__lookup_elem(program->maps.victims, &id, sizeof(id), &victim.victim,
					  sizeof(victim.victim), 0)) {
			bpf_map__lookup_elem(program->maps.jobs_of, &id, sizeof(id), &victim.jobs,
					     sizeof(victim.jobs), 0);
			*append(figures->victims, figures->victim_count) = victim;
		}
		last_id = &id;
	}
	figures->lost = program->bss->lost;
	figures->lost_events = recursion_misses() - missed_before;
	return 0;
}

u64 source_taken(u32 id)
{
	struct victim victim = { 0 };

	bpf_map__lookup_elem(program->maps.victims, &id, sizeof(id), &victim, sizeof(victim), 0);
	return victim.taken;
}

int source_read_cpu(unsigned int number, struct cpu *cpu)
{
	return bpf_map__lookup_elem(program->maps.cpus, &number, sizeof(number), cpu,
				    sizeof(*cpu), 0);
}

int source_read_stack(u32 stack, u64 *addresses)
{
	stack--;
	return bpf_map__lookup_elem(program->maps.stacks, &stack, sizeof(stack), addresses,
				    STACK_DEPTH * sizeof(*addresses), 0);
}
