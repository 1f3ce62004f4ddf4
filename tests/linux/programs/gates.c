/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gates.c: a 32-bit program without a C library that calls the kernel through the vDSO
 * (by syscall or sysenter, as the processor has them) and by int 0x80, and then does so
 * in two processes at once.
 */
#define AT_SYSINFO 32

enum {
	EXIT = 1,
	FORK = 2,
	WRITE = 4,
	OPEN = 5,
	WAITPID = 7,
	LSEEK = 19,
	GETPID = 20,
	YIELD = 158,
	PWRITE64 = 181,
	MMAP2 = 192
};

static int vdso; /* address of its entry */

static int call(int by, int number, int a, int b, int c, int d, int e, int f)
{
	const int more[] = { by, f, number };
	int result;
	__asm__ volatile("pushl %%ebp\n"
			 "movl %%eax, %%ebp\n"
			 "pushl (%%ebp)\n"
			 "movl 8(%%ebp), %%eax\n"
			 "movl 4(%%ebp), %%ebp\n"
			 "cmpl $0, (%%esp)\n"
			 "je 1f\n"
			 "call *(%%esp)\n"
			 "jmp 2f\n"
			 "1: int $0x80\n"
			 "2: addl $4, %%esp\n"
			 "popl %%ebp\n"
			 : "=a"(result)
			 : "0"(more), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory", "cc");
	return result;
}

static void use(int by)
{
	int fd;
	call(by, WRITE, 1, (int)"gate\n", 5, 0, 0, 0);
	call(by, MMAP2, 0, 4096, 3, 0x22, -1, 0);
	fd = call(by, OPEN, (int)"/tmp/gates", 0102, 0600, 0, 0, 0);
	call(by, PWRITE64, fd, (int)"x", 1, 1, 1, 0);
	call(by, LSEEK, fd, -10, 1, 0, 0, 0);
}

__attribute__((used)) void gates_main(const int *stack)
{
	int child, by[] = { 0, 0 }, status;
	stack += 1 + *stack + 1;
	while (*stack++)
		;
	for (; *stack; stack += 2)
		if (*stack == AT_SYSINFO)
			vdso = stack[1];
	by[0] = vdso;
	for (int i = 0; vdso && i < 2; i++)
		use(by[i]);
	child = call(0, FORK, 0, 0, 0, 0, 0, 0);
	for (int i = 0; i < 40; i++) {
		call(by[i & 1], GETPID, 0, 0, 0, 0, 0, 0);
		call(by[i & 1], YIELD, 0, 0, 0, 0, 0, 0);
	}
	if (child)
		call(0, WAITPID, child, (int)&status, 0, 0, 0, 0);
	call(0, EXIT, 0, 0, 0, 0, 0, 0);
}

__asm__(".globl _start\n"
	"_start: movl %esp, %eax; andl $-16, %esp; subl $12, %esp; pushl %eax\n"
	"call gates_main; hlt\n");
