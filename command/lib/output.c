// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <sys/ioctl.h>

#define WIDTH 80

enum output output;
bool output_one_line;

static unsigned int depth;
static bool first = true;

bool output_is_terminal(void)
{
	const char *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb");
}

bool output_has_colour(void)
{
	return output_is_terminal() && !getenv("NO_COLOR");
}

static void indent(void)
{
	if (output_one_line)
		return;
	putchar('\n');
	for (unsigned int i = 0; i < depth; i++)
		fputs("  ", stdout);
}

/* What is not UTF-8 becomes U+FFFD. */
static void json_quote(const char *string)
{
	const unsigned char *s = (const unsigned char *)string;

	putchar('"');
	while (*s) {
		unsigned int c, length = utf8_length(s, &c);

		if (!length)
			fputs("\\ufffd", stdout);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (*s < ' ' || *s == 0x7f)
			printf("\\u%04x", *s);
		else
			fwrite(s, 1, length, stdout);
		s += length ? length : 1;
	}
	putchar('"');
}

static void begin(const char *key)
{
	if (!first)
		putchar(',');
	if (depth)
		indent();
	first = false;
	if (key) {
		json_quote(key);
		fputs(": ", stdout);
	}
}

void json_open(const char *key, char bracket)
{
	begin(key);
	putchar(bracket);
	depth++;
	first = true;
}

void json_close(char bracket)
{
	depth--;
	if (!first)
		indent();
	putchar(bracket);
	first = false;
	if (!depth) {
		putchar('\n');
		first = true;
	}
}

void json_string(const char *key, const char *value)
{
	begin(key);
	if (value)
		json_quote(value);
	else
		fputs("null", stdout);
}

void json_number(const char *key, unsigned long long value)
{
	begin(key);
	printf("%llu", value);
}

void json_bool(const char *key, bool value)
{
	begin(key);
	fputs(value ? "true" : "false", stdout);
}

void json_number_if(const char *key, bool known, unsigned long long value)
{
	if (known)
		json_number(key, value);
	else
		json_string(key, NULL);
}

void json_cpus(const char *key, const struct cpus *cpus)
{
	autofree char *list = cpus_list(cpus);

	json_string(key, list);
}

void table_add(struct table *table, const char *format, ...)
{
	autotext struct text row = { 0 };
	char *rest;
	va_list args;

	va_start(args, format);
	text_add_list(&row, format, args);
	va_end(args);
	rest = row.s;
	table->cells = grow(table->cells, table->count + table->columns, sizeof(*table->cells));
	for (unsigned int i = 1; i < table->columns; i++)
		table->cells[table->count++] = copy(strsep(&rest, "\t"));
	table->cells[table->count++] = copy(rest);
}

static unsigned int width_of(const struct table *table, unsigned int column)
{
	size_t width = 0;

	for (unsigned int i = column; i < table->count; i += table->columns)
		if (strlen(table->cells[i]) > width)
			width = strlen(table->cells[i]);
	return (unsigned int)width;
}

void table_print(struct table *table, const char *indent)
{
	for (unsigned int i = 0; i < table->count; i++) {
		unsigned int column = i % table->columns;
		bool last = column == table->columns - 1;

		if (last)
			printf("%s\n", table->cells[i]);
		else
			printf("%s%-*s  ", column ? "" : indent, (int)width_of(table, column),
			       table->cells[i]);
	}
	while (table->count)
		free(table->cells[--table->count]);
	free(table->cells);
	table->cells = NULL;
}

static unsigned int terminal_width(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || size.ws_col > WIDTH)
		return WIDTH;
	return size.ws_col;
}

void output_wrapped(const char *text, unsigned int indent)
{
	unsigned int column = indent, width = terminal_width();

	while (*text) {
		unsigned int length = (unsigned int)strcspn(text, " ");

		if (column > indent && column + 1 + length > width) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)length, text);
		column += length;
		text += length + (text[length] == ' ');
	}
	putchar('\n');
}
