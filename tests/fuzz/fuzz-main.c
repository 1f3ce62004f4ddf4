/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replay a corpus: what libFuzzer's main does where there is no libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	if (!f || fstat(fileno(f), &st) < 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return 1;
	}
	/* Exactly as large as the input, so that a sanitizer sees each byte too far. */
	uint8_t *data = malloc(st.st_size ? (size_t)st.st_size : 1);
	size_t n = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	if (data)
		LLVMFuzzerTestOneInput(data, n);
	free(data);
	return !data || n != (size_t)st.st_size;
}

static int replay_folder(const char *folder)
{
	DIR *d = opendir(folder);
	unsigned n = 0, bad = 0;
	for (struct dirent *ent; d && (ent = readdir(d));) {
		char path[4096];
		if (ent->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, ent->d_name);
		bad += replay_file(path) != 0;
		n++;
	}
	if (d)
		closedir(d);
	printf("%s: %u inputs\n", folder, n);
	return bad || !n;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;
	for (int i = 1; i < argc; i++)
		bad |= replay_folder(argv[i]);
	return bad;
}
