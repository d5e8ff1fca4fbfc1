// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"
#include "lib/cpus.h"

static void expect_list(const char *text, const char *wanted)
{
	struct cpus set;
	int ret = cpus_parse(&set, text);
	autofree char *list = ret ? NULL : cpus_list(&set);

	check(!ret, "'%s': %s", text, strerror(-ret));
	check(!strcmp(list, wanted), "'%s' is '%s', not '%s'", text, list, wanted);
}

static void expect_error(const char *text, int error)
{
	struct cpus set = { .bits = { 5 } };
	const struct cpus before = set;
	int ret = cpus_parse(&set, text);

	check(ret == error, "'%.40s' gives %d, not %d", text, ret, error);
	check(cpus_equal(&set, &before), "'%.40s' changed the set", text);
}

static void lists(void)
{
	expect_list("", "");
	expect_list("none", "");
	expect_list(" \n", "");
	expect_list("0", "0");
	expect_list("1,3-5\n", "1,3-5");
	expect_list("5-7,1-2,6-9,2,2", "1-2,5-9");
	expect_list("0-8191", "0-8191");
	expect_list("63,64,65", "63-65");
	expect_list("007", "7");
}

static void masks(void)
{
	expect_list("0x0", "");
	expect_list("0x2a", "1,3,5");
	expect_list("0X2A", "1,3,5");
	expect_list("0x1,00000000", "32");
	expect_list("0x100000000", "32");
	expect_list("0x80000000,00000001,00000000", "32,95");
	expect_list("0x0000000000000000000000000000000000000001", "0");
}

/* On a machine whose last CPU is 9. */
static void boot_lists(void)
{
	static const struct {
		const char *text, *list;
	} cases[] = {
		{ "N", "9" }, { "all", "0-9" }, { "ALL", "0-9" }, { "4-N", "4-9" },
		{ "0-7:2/4", "0-1,4-5" }, { "N-N", "9" }, { "all:1/3", "0,3,6,9" },
		{ "1,3-4,N", "1,3-4,9" }, { "2-N:0/1", "" },
	};
	static const char * const bad[] = {
		"", "n", "N-1", "10", "1-10", "0-7:5/4", "0-7:1/0", "0-7:1", "0-7:/2", "all-3",
		"1N", "domain,1", "1,", "-1",
	};
	struct cpus set;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		autofree char *list = NULL;

		check(!cpus_parse_boot(&set, cases[i].text, 9), "'%s' is refused", cases[i].text);
		list = cpus_list(&set);
		check(!strcmp(list, cases[i].list), "'%s' is %s", cases[i].text, list);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check(cpus_parse_boot(&set, bad[i], 9), "'%s' is taken", bad[i]);
	check(cpus_parse(&set, "N") && cpus_parse(&set, "0-7:2/4"),
	      "taken where people write a list");
}

static void errors(void)
{
	static const char * const garbage[] = {
		"x", "-", ",", "1,", ",1", "1,,2", "1-", "-1", "2-1", "1-2-3", "1 2", "1;2",
		"0x", "0x,", "0xg", "0x1,", "0x1,0", "0x,00000000", "0x1,000000000", "+1",
		"none,1", "1,none", "1.5", "0x1-2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++)
		expect_error(garbage[i], -EINVAL);
	expect_error("8192", -ERANGE);
	expect_error("0-99999", -ERANGE);
	expect_error("18446744073709551617", -ERANGE);
	expect_error("0-18446744073709551617", -ERANGE);
	expect_error("4294967296", -ERANGE);
	expect_error("8192,x", -EINVAL);
}

/* Whatever a set is, its texts give it back. */
static void round_trips(void)
{
	unsigned int state = 1;

	for (unsigned int n = 0; n < 2000; n++) {
		struct cpus set = { 0 }, back;
		autofree char *list = NULL, *mask = NULL;

		for (unsigned int i = state % 40; i; i--) {
			state = state * 1103515245 + 12345;
			cpus_add(&set, (state >> 8) % (n % 2 ? 128 : CPUS_MAX));
		}
		state = state * 1103515245 + 12345;
		list = cpus_list(&set);
		mask = cpus_mask(&set);
		check(!cpus_parse(&back, list) && cpus_equal(&set, &back),
		      "list %s", list);
		check(!cpus_parse_mask(&back, mask) && cpus_equal(&set, &back),
		      "mask %s", mask);
	}
}

static void algebra(void)
{
	struct cpus a, b, c;

	check(!cpus_parse(&a, "1-4") && !cpus_parse(&b, "3-6"), "parse");
	c = cpus_and(&a, &b);
	check(cpus_count(&c) == 2 && cpus_has(&c, 3) && cpus_has(&c, 4), "and");
	c = cpus_or(&a, &b);
	check(cpus_count(&c) == 6 && cpus_subset(&a, &c) && !cpus_subset(&c, &a), "or");
	c = cpus_and_not(&a, &b);
	check(cpus_count(&c) == 2 && !cpus_intersect(&c, &b), "and not");
	check(cpus_next(&a, 5) == CPUS_MAX && cpus_next(&a, 0) == 1, "next");
	check(!cpus_has(&a, CPUS_MAX) && !cpus_has(&a, -1u), "beyond the end");
}

int main(void)
{
	lists();
	masks();
	boot_lists();
	errors();
	round_trips();
	algebra();
	return 0;
}
