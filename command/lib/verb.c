// SPDX-License-Identifier: GPL-2.0-or-later
#include "verb.h"
#include "file.h"
#include "message.h"
#include "output.h"

#define OPTIONS_MAX 32

#define OWN_VALUE 256			/* of options without a letter, for getopt */

static int take_json(const struct verb *verb)
{
	if (optarg && strcmp(optarg, "line"))
		return usage_error(verb, "'%s': expected --json or --json=line", optarg);
	output = OUTPUT_JSON;
	output_one_line = optarg;
	return -1;
}

static int take_help(const struct verb *verb)
{
	verb_print_help(verb);
	return STATUS_OK;
}

static int take_root(const struct verb *verb)
{
	file_set_root(optarg);
	return -1;
}

static const struct verb_option common[] = {
	{ "json", 0, "[line]", "print the result as JSON; =line: on one line", .take = take_json },
	{ "help", 'h', NULL, "print this help", .take = take_help },
	/* for tests: not in any list */
	{ "root", 0, "DIRECTORY", NULL, .take = take_root },
};

/* The option number I of a verb, its own ones first; NULL behind the last one. */
static const struct verb_option *option_at(const struct verb *verb, size_t i)
{
	size_t own = 0;

	while (verb->options && verb->options[own].name)
		own++;
	if (i < own)
		return &verb->options[i];
	return i - own < ARRAY_SIZE(common) ? &common[i - own] : NULL;
}

static int usage(const struct verb *verb)
{
	fprintf(stderr, "Try 'timershield help%s%s'.\n", verb ? " " : "", verb ? verb->name : "");
	return verb && verb->usage_status ? verb->usage_status : STATUS_USAGE;
}

int usage_error(const struct verb *verb, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	failed_list(format, args);
	va_end(args);
	return usage(verb);
}

static int take_number(const struct verb *verb, const struct verb_option *option)
{
	long number;
	char *end;

	errno = 0;
	number = strtol(optarg, &end, 10);
	if (errno || end == optarg || *end || number < option->least || number > option->most)
		return usage_error(verb, "--%s must be a number from %d to %d, not '%s'",
				   option->name, option->least, option->most, optarg);
	*option->number = (int)number;
	return -1;
}

static int take_decimal(const struct verb *verb, const struct verb_option *option)
{
	char *end;

	errno = 0;
	*option->decimal = strtod(optarg, &end);
	if (errno || end == optarg || *end || !(*option->decimal > 0) || *option->decimal > 1e9)
		return usage_error(verb, "--%s must be a number above 0, not '%s'", option->name,
				   optarg);
	return -1;
}

static int take(const struct verb *verb, const struct verb_option *option)
{
	if (option->number)
		return take_number(verb, option);
	if (option->decimal)
		return take_decimal(verb, option);
	if (option->cpus)
		return take_cpus(verb, optarg, option->cpus);
	if (option->take)
		return option->take(verb);
	if (option->flag)
		*option->flag = true;
	else
		*option->text = optarg;
	return -1;
}

/* VALUE is what getopt_long() returned; it has said what is wrong if that is no option. */
static int take_value(const struct verb *verb, int value)
{
	const struct verb_option *option;

	for (int i = 0; (option = option_at(verb, (size_t)i)); i++)
		if (value == (option->letter ? option->letter : OWN_VALUE + i))
			return take(verb, option);
	return usage(verb);
}

int verb_parse(const struct verb *verb, int argc, char **argv)
{
	bool command = verb->words && strstr(verb->words, "<command>");
	struct option options[OPTIONS_MAX] = { 0 };
	char letters[3 * OPTIONS_MAX] = "+", *end = letters + command;
	const struct verb_option *option;
	int value, status = -1;

	for (int i = 0; i < OPTIONS_MAX - 1 && (option = option_at(verb, (size_t)i)); i++) {
		options[i] = (struct option){ option->name, !option->argument ? no_argument :
			*option->argument == '[' ? optional_argument : required_argument,
			NULL, option->letter ? option->letter : OWN_VALUE + i };
		if (option->letter)
			end += sprintf(end, "%c%s", option->letter, option->argument ? ":" : "");
	}
	*end = '\0';
	while (status < 0 && (value = getopt_long(argc, argv, letters, options, NULL)) != -1)
		status = take_value(verb, value);
	if (status < 0 && !verb->words && optind < argc)
		return usage_error(verb, "unexpected argument '%s'", argv[optind]);
	return status;
}

int take_cpus(const struct verb *verb, const char *list, struct cpus *cpus)
{
	int ret = cpus_parse(cpus, list);

	if (ret == -ERANGE)
		return usage_error(verb, "'%s': Linux has CPUs 0-%u at most", list, CPUS_MAX - 1);
	if (ret || cpus_empty(cpus))
		return usage_error(verb, "'%s': expected a list of CPUs such as 2-3,6", list);
	return -1;
}

/* "-c, --cpus=CPULIST" */
static char *option_text(const struct verb_option *option)
{
	const char *argument = option->argument ? option->argument : "";
	char letter[] = "-x, ";
	bool optional = *argument == '[';

	letter[1] = (char)option->letter;
	return format("%s--%s%s%s", option->letter ? letter : "    ", option->name,
		      optional ? "[=" : *argument ? "=" : "", argument + optional);
}

void verb_print_help(const struct verb *verb)
{
	const struct verb_option *option;
	unsigned int width = 0;

	printf("usage: timershield %s%s%s\n\n%c%s.\n", verb->name, *verb->arguments ? " " : "",
	       verb->arguments, *verb->summary - 'a' + 'A', verb->summary + 1);
	if (*verb->about)
		printf("\n%s", verb->about);
	putchar('\n');
	for (size_t i = 0; (option = option_at(verb, i)); i++) {
		autofree char *text = option_text(option);

		if (option->help && strlen(text) > width)
			width = (unsigned int)strlen(text);
	}
	for (size_t i = 0; (option = option_at(verb, i)); i++) {
		autofree char *text = option_text(option);

		if (!option->help)
			continue;
		printf("  %-*s  ", (int)width, text);
		output_wrapped(option->help, width + 4);
	}
}

/* A line for each option, "--cpus= <cpus>" and "-c <cpus>", and one for its arguments. */
void verb_print_words(const struct verb *verb)
{
	const struct verb_option *option;

	for (size_t i = 0; (option = option_at(verb, i)); i++) {
		const char *words = option->words ? option->words : "";
		bool takes = option->argument && *option->argument != '[';

		if (!option->help)
			continue;
		printf("--%s%s %s\n", option->name, takes ? "=" : "", words);
		if (option->letter && takes)
			printf("-%c %s\n", option->letter, words);
	}
	printf("- %s\n", verb->words ? verb->words : "");
}

static void print_escaped(const char *text)
{
	for (; *text; text++)
		printf("%s%c", *text == '-' ? "\\" : "", *text);
}

void verb_print_roff(const struct verb *verb)
{
	const struct verb_option *option;

	printf("\\&");
	print_escaped(verb->about);
	for (size_t i = 0; verb->options && (option = &verb->options[i])->name; i++) {
		autofree char *text = option_text(option);

		puts(".TP");
		printf(".B ");
		print_escaped(text + strspn(text, " "));
		printf("\n%c", *option->help >= 'a' && *option->help <= 'z' ?
		       *option->help - 'a' + 'A' : *option->help);
		print_escaped(option->help + 1);
		puts(".");
	}
}
