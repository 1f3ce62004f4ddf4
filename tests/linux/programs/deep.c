/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep.c: a program that is 40 calls deep whenever it works: in a loop of its own, in
 * system calls, in page faults.  Without a library, for all processors alike.
 */
#define DEPTH	  40
#define PAGES	  64
#define AT_FDCWD  (-100)
#define ANONYMOUS 0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */

/* Outermost: nobody has called it. */
#if defined(__x86_64__)
enum { OPEN_AT = 257, READ = 0, MAP = 9, UNMAP = 11 };
__asm__(".globl _start\n.type _start, @function\n_start:\n"
	".cfi_startproc\n.cfi_undefined rip\n"
	"xorl %ebp, %ebp\nandq $-16, %rsp\ncall deep_main\nhlt\n"
	".cfi_endproc\n.size _start, . - _start\n");

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "+a"(n)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return n;
}
#elif defined(__i386__)
enum { OPEN_AT = 295, READ = 3, MAP = 192, UNMAP = 91 };
__asm__(".globl _start\n.type _start, @function\n_start:\n"
	".cfi_startproc\n.cfi_undefined eip\n"
	"xorl %ebp, %ebp\nandl $-16, %esp\ncall deep_main\nhlt\n"
	".cfi_endproc\n.size _start, . - _start\n");

/* f is 0 in all calls, and so is ebp. */
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	(void)f;
	__asm__ volatile("pushl %%ebp\n.cfi_adjust_cfa_offset 4\nxorl %%ebp, %%ebp\n"
			 "int $0x80\npopl %%ebp\n.cfi_adjust_cfa_offset -4\n"
			 : "+a"(n)
			 : "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory");
	return n;
}
#elif defined(__riscv)
enum { OPEN_AT = 56, READ = 63, MAP = 222, UNMAP = 215 };
__asm__(".globl _start\n.type _start, @function\n_start:\n"
	".cfi_startproc\n.cfi_undefined ra\n"
	".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
	"li s0, 0\nli ra, 0\ncall deep_main\nebreak\n"
	".cfi_endproc\n.size _start, . - _start\n");

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c, a3 __asm__("a3") = d, a4 __asm__("a4") = e;
	register long a5 __asm__("a5") = f;
	__asm__ volatile("ecall"
			 : "+r"(a0)
			 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
			 : "memory");
	return a0;
}
#else
enum { OPEN_AT = 56, READ = 63, MAP = 222, UNMAP = 215 };
__asm__(".globl _start\n.type _start, %function\n_start:\n"
	".cfi_startproc\n.cfi_undefined x30\n"
	"mov x29, #0\nmov x30, #0\nbl deep_main\nbrk #1\n"
	".cfi_endproc\n.size _start, . - _start\n");

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#endif

static char bytes[1 << 16];
static volatile unsigned long sink;

__attribute__((noinline)) static void compute(void)
{
	for (unsigned i = 0; i < 3000000; i++)
		sink = sink * 31 + i;
}

__attribute__((noinline)) static void call_kernel(long fd)
{
	for (int i = 0; i < 40; i++)
		sink += (unsigned long)call(READ, fd, (long)bytes, sizeof(bytes), 0, 0,
					    0);
}

__attribute__((noinline)) static void touch_pages(void)
{
	long at = call(MAP, 0, PAGES * 4096, 3, ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return;
	for (int i = 0; i < PAGES; i++)
		((volatile char *)at)[i * 4096] = 1;
	call(UNMAP, at, PAGES * 4096, 0, 0, 0, 0);
}

__attribute__((noinline, noclone)) static unsigned long dive(unsigned n, long fd)
{
	if (n > 1)
		return dive(n - 1, fd) * 3 + n;
	compute();
	call_kernel(fd);
	for (int i = 0; i < 30; i++)
		touch_pages();
	return sink;
}

int deep_main(void);
int deep_main(void)
{
	long fd = call(OPEN_AT, AT_FDCWD, (long)"/dev/zero", 0, 0, 0, 0);
	for (;;)
		sink += dive(DEPTH, fd);
}
