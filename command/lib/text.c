// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

static void out_of_memory(void)
{
	fputs("timershield: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

void *grow(void *memory, size_t count, size_t size)
{
	memory = reallocarray(memory, count, size);
	if (!memory)
		out_of_memory();
	return memory;
}

void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory && count)
		out_of_memory();
	return memory;
}

void text_add_list(struct text *text, const char *format, va_list args)
{
	autofree char *added = NULL;
	int n = vasprintf(&added, format, args);

	if (n < 0)
		out_of_memory();
	text_add_bytes(text, added, (size_t)n);
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_add_list(text, format, args);
	va_end(args);
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
	const size_t needed = text->length + length + 1;

	if (needed > text->size) {
		text->size = needed < 64 ? 64 : needed * 2;
		text->s = grow(text->s, text->size, 1);
	}
	memcpy(text->s + text->length, bytes, length);
	text->length += length;
	text->s[text->length] = '\0';
}

void text_free(struct text *text)
{
	free(text->s);
	*text = (struct text){ 0 };
}

void free_string(char **string)
{
	free(*string);
}

void text_chomp(struct text *text)
{
	while (text->length && text->s[text->length - 1] == '\n')
		text->s[--text->length] = '\0';
}

char *text_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	at = at ? at + strlen(key) : NULL;
	return at ? format("%.*s", (int)strcspn(at, "\n"), at) : NULL;
}

char *copy(const char *string)
{
	return format("%s", string);
}

char *format(const char *format, ...)
{
	struct text text = { 0 };
	va_list args;

	va_start(args, format);
	text_add_list(&text, format, args);
	va_end(args);
	return text.s;
}

unsigned int utf8_length(const unsigned char *s, unsigned int *c)
{
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int length = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 :
			      *s >> 3 == 30 ? 4 : 0;

	*c = length ? *s & 0xff >> (length == 1 ? 0 : length + 1) : 0;
	for (unsigned int i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	if (length && (*c < least[length] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000)))
		return 0;
	return length;
}

void unescape(char *text, char mark, const char *digits)
{
	unsigned int c;
	char *to = text;
	int length;

	for (; *text; text++, to++) {
		*to = *text;
		if (*text == mark && sscanf(text + 1, digits, &c, &length) == 1) {
			*to = (char)c;
			text += length;
		}
	}
	*to = '\0';
}

/* Controls, and what changes the direction of a line or cannot be seen. */
static bool is_printable(unsigned int c)
{
	return c >= ' ' && (c < 0x7f || c > 0x9f) && (c < 0x200b || c > 0x200f) &&
	       (c < 0x2028 || c > 0x202e) && (c < 0x2060 || c > 0x206f) && c != 0xfeff &&
	       (c < 0xfff9 || c > 0xfffb);
}

void make_printable(char *text)
{
	unsigned char *s = (unsigned char *)text;

	while (*s) {
		unsigned int c, length = utf8_length(s, &c);

		if (length && is_printable(c)) {
			s += length;
			continue;
		}
		for (unsigned int i = 0; i < length || !i; i++)
			*s++ = '?';
	}
}

bool has_word(const char *words, const char *word)
{
	size_t length;

	for (; *(words += strspn(words, " ")); words += length) {
		length = strcspn(words, " ");
		if (length == strlen(word) && !strncmp(words, word, length))
			return true;
	}
	return false;
}
