/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kexec: start another kernel, as Debian's kexec-tools does with -s.
 *
 * usage: kexec load KERNEL INITRD COMMAND-LINE
 *        kexec crash KERNEL INITRD COMMAND-LINE	for when it panics (kdump)
 *        kexec go
 */
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load(char **arg, unsigned long flags)
{
	int kernel = open(arg[0], O_RDONLY), initrd = open(arg[1], O_RDONLY);
	if (kernel < 0 || initrd < 0) {
		perror("open");
		return 1;
	}
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(arg[2]) + 1, arg[2],
		    flags) < 0) {
		perror("kexec_file_load");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "load"))
		return load(argv + 2, 0);
	if (argc == 5 && !strcmp(argv[1], "crash"))
		return load(argv + 2, KEXEC_FILE_ON_CRASH);
	if (argc == 2 && !strcmp(argv[1], "go")) {
		syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			LINUX_REBOOT_CMD_KEXEC, NULL);
		perror("reboot");
		return 1;
	}
	fputs("usage: kexec load|crash KERNEL INITRD COMMAND-LINE\n       kexec go\n",
	      stderr);
	return 2;
}
