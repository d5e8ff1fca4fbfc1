// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NFS_COMPILE of the article's stress-kernel: sources are compiled over NFSv4, from this
 * machine's own server, again and again. What mountd does, to name clients and exports to the
 * kernel, is done once and for good.
 */
#include "nfs.h"
#include "file.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES		32
#define FUNCTIONS	32
#define BUILDERS	4
#define FOREVER		"2147483647"
#define EXPORT		"/export"

/* The export's flags: no check of subtrees, its own identifier, which is 0: NFSv4's root */
static const struct {
	const char *path, *text;
} server[] = {
	{ "/proc/net/rpc/auth.unix.ip/channel", "nfsd 127.0.0.1 " FOREVER " clients\n" },
	{ "/proc/net/rpc/nfsd.fh/channel", "clients 1 \\x00000000 " FOREVER " " EXPORT "\n" },
	{ "/proc/net/rpc/nfsd.export/channel",
	  "clients " EXPORT " " FOREVER " 9216 65534 65534 0\n" },
	{ "/proc/fs/nfsd/versions", "-3\n" },
	/* A server that can note its clients may be told not to wait for earlier ones: "Y" */
	{ "/proc/fs/nfsd/nfsv4recoverydir", "/run\n" },
	{ "/proc/fs/nfsd/portlist", "tcp 2049\n" },
	{ "/proc/fs/nfsd/threads", "4\n" },
	{ "/proc/fs/nfsd/v4_end_grace", "Y\n" },
};

/* As a kernel's: each source includes all headers. */
static int write_sources(void)
{
	for (unsigned int n = 0; n < FILES; n++) {
		char path[64];
		FILE *header, *source;

		snprintf(path, sizeof(path), EXPORT "/%u.h", n);
		header = fopen(path, "we");
		snprintf(path, sizeof(path), EXPORT "/%u.c", n);
		source = fopen(path, "we");
		if (!header || !source)
			return -errno;
		for (unsigned int i = 0; i < FILES; i++)
			fprintf(source, "#include \"%u.h\"\n", i);
		for (unsigned int i = 0; i < FUNCTIONS; i++) {
			fprintf(header, "int f%u_%u(int x);\n", n, i);
			fprintf(source, "int f%u_%u(int x)\n"
				"{\n\treturn x ? x * f%u_%u(x - 1) : %u;\n}\n",
				n, i, i, n, i);
		}
		if (fclose(header) || fclose(source))
			return -EIO;
	}
	return 0;
}

int nfs_mount(void)
{
	int ret;

	if (mkdir("/nfs", 0755))
		return errno == EEXIST ? 0 : -errno;
	if (mkdir(EXPORT, 0755) || mount("nfsd", "/proc/fs/nfsd", "nfsd", 0, NULL))
		return -errno;
	ret = write_sources();
	for (size_t i = 0; !ret && i < sizeof(server) / sizeof(server[0]); i++)
		ret = file_write(server[i].path, server[i].text);
	if (ret)
		return ret;
	return mount("127.0.0.1:/", "/nfs", "nfs4", 0,
		     "vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1") ? -errno : 0;
}

void nfs_compile(void)
{
	unsigned int n = 0;

	while (n < BUILDERS - 1 && fork() > 0)
		n++;
	for (;; n = (n + BUILDERS) % FILES) {
		char source[32], object[32];

		snprintf(source, sizeof(source), "/nfs/%u.c", n);
		snprintf(object, sizeof(object), "/nfs/%u.o", n);
		if (!fork()) {
			execl("/bin/tcc", "tcc", "-c", source, "-o", object, NULL);
			_exit(1);
		}
		wait(NULL);
	}
}
