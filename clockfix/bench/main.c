// SPDX-License-Identifier: LGPL-2.1-or-later
/* main.c - clockfix-bench: how exact clockfix is, against its rivals */
#include <getopt.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

volatile bool interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = true;
}

static int verb_help(const struct bench_options *opt, int argc, char **argv);

static const struct {
	const char *name, *text;
	int (*run)(const struct bench_options *opt, int argc, char **argv);
} verbs[] = {
	{ "compare", "lateness and CPU time of clockfix and its rivals (the default)",
	  verb_compare },
	{ "submit", "cost of submission with up to a million pending jobs", verb_submit },
	{ "record", "record a series of oversleeps: record NS > FILE", verb_record },
	{ "replay", "estimators and what hindsight allows, on recorded series: replay FILE...",
	  verb_replay },
	{ "capabilities", "what this machine and these privileges offer", verb_capabilities },
	{ "help", "this text", verb_help },
};

static int verb_help(const struct bench_options *opt, int argc, char **argv)
{
	(void)opt;
	(void)argc;
	(void)argv;
	printf("Usage: clockfix-bench [OPTION]... [VERB]\n\nVerbs:\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		printf("  %-14s %s\n", verbs[i].name, verbs[i].text);
	printf("\nOptions:\n"
	       "  -i, --intervals LIST  e.g. 1us,100us,1ms (default: 1us to 100ms in decades)\n"
	       "  -r, --rivals LIST     only these (default: all)\n"
	       "  -n, --jobs N          jobs per rival and interval at most (default 1000000)\n"
	       "  -s, --seconds S       time per rival and interval at most (default 60)\n"
	       "  -R, --rounds N        rounds in which rivals take turns (default 20)\n"
	       "  -c, --cpu N           CPU to run on (default: the last)\n"
	       "  -p, --priority N      SCHED_FIFO priority, 0: SCHED_OTHER (default 80 if allowed)\n"
	       "      --peers           next to Rust's spin_sleep (build it first:\n"
	       "                        ninja -C BUILD-DIRECTORY bench/libclockfix-peers.so)\n"
	       "      --late-ppm N      clockfix option late_ppm\n"
	       "      --cpu-ppm N       clockfix option cpu_ppm\n"
	       "  -j, --json FILE       write results with CDFs\n"
	       "      --chart FILE      replay: draw the first series as SVG\n"
	       "  -q, --quiet           no progress\n"
	       "  -h, --help            this text\n"
	       "  -V, --version         version\n"
	       "\nExit codes: 0, 1 on an error, 2 on wrong usage, 130 if interrupted (what was\n"
	       "measured until then is reported).\n");
	return 0;
}

static const char *status_text(int status)
{
	return status == CLOCKFIX_NOT_ASKED ? "not asked for" :
	       status ? strerror(-status) : "yes";
}

int verb_capabilities(const struct bench_options *opt, int argc, char **argv)
{
	struct clockfix_capabilities caps = { .size = sizeof(caps) };
	struct clockfix_options options;
	struct clockfix *timer;
	int ret;

	(void)argc;
	(void)argv;
	clockfix_options_init(&options);
	options.cpu = opt->cpu;
	options.policy = SCHED_FIFO;
	options.priority = opt->priority ? opt->priority : 80;
	options.flags = CLOCKFIX_LOCK_MEMORY;
	options.cpu_latency_us = 0;
	ret = clockfix_create(&timer, &options);
	if (ret) {
		fprintf(stderr, "clockfix-bench: no timer: %s\n", strerror(-ret));
		return 1;
	}
	clockfix_capabilities_read(timer, &caps);
	clockfix_destroy(timer, 0);
	printf("CPU counter as clock     %s (%s, %.3f MHz)\n",
	       caps.counter ? "no, clock_gettime() instead" : "yes", caps.counter_name,
	       caps.counter_hz / 1e6);
	printf("pinned to a CPU          %s\n", status_text(caps.affinity));
	printf("SCHED_FIFO               %s\n", status_text(caps.scheduling));
	printf("locked memory            %s\n", status_text(caps.memory));
	printf("PM QoS                   %s\n", status_text(caps.cpu_latency));
	printf("timer slack of 1 ns      %s\n", status_text(caps.timer_slack));
	return 0;
}

static int default_priority(void)
{
	struct sched_param param = { .sched_priority = 80 }, none = { 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 0;
	sched_setscheduler(0, SCHED_OTHER, &none);
	return 80;
}

static bool may_use(int cpu)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) || CPU_ISSET(cpu, &set);
}

static int last_cpu(void)
{
	int cpu = CPU_SETSIZE - 1;

	while (cpu && !may_use(cpu))
		cpu--;
	return cpu;
}

static double number(const char *text, double least, double most, const char *option)
{
	char *end;
	double val = strtod(text, &end);

	if (end == text || *end || val < least || val > most) {
		fprintf(stderr, "clockfix-bench: %s: '%s' is not a number from %g to %g\n", option,
			text, least, most);
		exit(2);
	}
	return val;
}

enum { OPT_CPU = 256, OPT_LATE, OPT_PEERS, OPT_CHART };

static const struct option long_options[] = {
	{ "intervals", required_argument, NULL, 'i' },
	{ "rivals", required_argument, NULL, 'r' },
	{ "jobs", required_argument, NULL, 'n' },
	{ "seconds", required_argument, NULL, 's' },
	{ "rounds", required_argument, NULL, 'R' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "priority", required_argument, NULL, 'p' },
	{ "peers", no_argument, NULL, OPT_PEERS },
	{ "late-ppm", required_argument, NULL, OPT_LATE },
	{ "cpu-ppm", required_argument, NULL, OPT_CPU },
	{ "chart", required_argument, NULL, OPT_CHART },
	{ "json", required_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void parse(struct bench_options *opt, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "i:r:n:s:R:c:p:j:qhV", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			opt->intervals = optarg;
			break;
		case 'r':
			opt->rivals = optarg;
			break;
		case 'n':
			opt->jobs = number(optarg, 1, 1e9, "--jobs");
			break;
		case 's':
			opt->seconds = number(optarg, 0.01, 86400, "--seconds");
			break;
		case 'R':
			opt->rounds = number(optarg, 1, 1000, "--rounds");
			break;
		case 'c':
			opt->cpu = number(optarg, 0, CPU_SETSIZE - 1, "--cpu");
			if (!may_use(opt->cpu)) {
				fprintf(stderr, "clockfix-bench: there is no CPU %d that this "
					"process may use\n", opt->cpu);
				exit(2);
			}
			break;
		case 'p':
			opt->priority = number(optarg, 0, 99, "--priority");
			break;
		case OPT_PEERS:
			opt->peers = true;
			break;
		case OPT_LATE:
			opt->late_ppm = number(optarg, 1, 1e6, "--late-ppm");
			break;
		case OPT_CPU:
			opt->cpu_ppm = number(optarg, 1, 1e6, "--cpu-ppm");
			break;
		case OPT_CHART:
			opt->chart = optarg;
			break;
		case 'j':
			opt->json = optarg;
			break;
		case 'q':
			opt->quiet = true;
			break;
		case 'h':
			verb_help(NULL, 0, NULL);
			exit(0);
		case 'V':
			printf("clockfix-bench %d.%d\n", CLOCKFIX_VERSION_MAJOR,
			       CLOCKFIX_VERSION_MINOR);
			exit(0);
		default:
			fprintf(stderr, "Try 'clockfix-bench --help'.\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct bench_options opt = {
		.cpu = last_cpu(),
		.priority = default_priority(),
		.jobs = 1000000,
		.seconds = 60,
		.rounds = 20,
		.intervals = "1us,10us,100us,1ms,10ms,100ms",
	};
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	const char *verb;

	parse(&opt, argc, argv);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	verb = optind < argc ? argv[optind] : "compare";
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!strcmp(verbs[i].name, verb))
			return verbs[i].run(&opt, argc > optind ? argc - optind : 1,
					    argv + (argc > optind ? optind : 0));
	}
	fprintf(stderr, "clockfix-bench: no verb '%s'; try 'clockfix-bench help'\n", verb);
	return 2;
}
