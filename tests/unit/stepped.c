/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepped.c: a program that test-unwind-step compiles in many ways and runs one
 * instruction at a time.  No library, so that all of its code is this file; the code
 * shapes are those at which unwinders go wrong.
 */
typedef unsigned long u64; /* a word: 32 bits with -m32 */

#define NOINLINE __attribute__((__noinline__))
#ifdef __x86_64__
#define CALLEE_POPS NOINLINE
#else
#define CALLEE_POPS __attribute__((__noinline__, __stdcall__, __used__))
#endif
#define COLD __attribute__((__cold__, __noinline__))

volatile u64 sink;
volatile int zero;

#ifdef __x86_64__
#define EXIT "mov $60, %%eax; xor %%edi, %%edi; syscall"
__asm__(".text\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call program\n"
	"	xor %edi, %edi\n"
	"	mov $60, %eax\n"
	"	syscall\n"
	".size _start, . - _start\n"
	/* Saves where this thread is, and goes on where the other one was. */
	".globl switch_to\n"
	".type switch_to, @function\n"
	"switch_to:\n"
	"	push %rbp\n"
#ifdef FRAMED_SWITCH /* for a while rsp is one thread's and rbp the other's */
	"	mov %rsp, %rbp\n"
#endif
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov (%rsi), %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size switch_to, . - switch_to\n"
	/* An assembly leaf that is called by name and has a loop. */
	".globl add_up\n"
	".type add_up, @function\n"
	"add_up:\n"
	"	xor %eax, %eax\n"
	"1:	add (%rdi), %rax\n"
	"	add $8, %rdi\n"
	"	dec %rsi\n"
	"	jne 1b\n"
	"	ret\n"
	".size add_up, . - add_up\n"
	/* As kernels load cs: by a far return to what follows. */
	".globl load_cs\n"
	".type load_cs, @function\n"
	"load_cs:\n"
	"	mov %cs, %eax\n"
	"	push %rbx\n"
	"	push %rax\n"
	"	lea 1f(%rip), %rax\n"
	"	push %rax\n"
	"	lretq\n"
	"1:	mov %eax, %ebx\n"
	"	pop %rbx\n"
	"	ret\n"
	".size load_cs, . - load_cs\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n");
#else
#define EXIT "mov $1, %%eax; xor %%ebx, %%ebx; int $0x80"
__asm__(".text\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %esp\n"
	"	call program\n"
	"	xor %ebx, %ebx\n"
	"	mov $1, %eax\n"
	"	int $0x80\n"
	".size _start, . - _start\n"
	".globl switch_to\n"
	".type switch_to, @function\n"
	"switch_to:\n"
	"	mov 4(%esp), %eax\n"
	"	mov 8(%esp), %edx\n"
	"	push %ebp\n"
	"	push %ebx\n"
	"	push %esi\n"
	"	push %edi\n"
	"	push %ecx\n"
	"	push %ecx\n"
	"	mov %esp, (%eax)\n"
	"	mov (%edx), %esp\n"
	"	pop %ecx\n"
	"	pop %ecx\n"
	"	pop %edi\n"
	"	pop %esi\n"
	"	pop %ebx\n"
	"	pop %ebp\n"
	"	ret\n"
	".size switch_to, . - switch_to\n"
	".globl add_up\n"
	".type add_up, @function\n"
	"add_up:\n"
	"	mov 4(%esp), %edx\n"
	"	mov 8(%esp), %ecx\n"
	"	xor %eax, %eax\n"
	"1:	add (%edx), %eax\n"
	"	add $4, %edx\n"
	"	dec %ecx\n"
	"	jne 1b\n"
	"	ret\n"
	".size add_up, . - add_up\n"
	".globl load_cs\n"
	".type load_cs, @function\n"
	"load_cs:\n"
	"	push %ebx\n"
	"	push %cs\n"
	"	push $1f\n"
	"	lret\n"
	"1:	mov %eax, %ebx\n"
	/* With cs below its return address, as a far call leaves it. */
	"	push %cs\n"
	"	call far_leaf\n"
	"	pop %ebx\n"
	"	ret\n"
	".size load_cs, . - load_cs\n"
	".globl far_leaf\n"
	".type far_leaf, @function\n"
	"far_leaf:\n"
	"	push %ebx\n"
	"	mov 12(%esp), %ebx\n"
	"	pop %ebx\n"
	"	lret\n"
	".size far_leaf, . - far_leaf\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n");
#endif

void switch_to(u64 **from, u64 **to);
u64 add_up(const u64 *v, u64 n);
void load_cs(void);
void program(void);

NOINLINE static u64 leaf(u64 x)
{
	return x * 3 + 1;
}

NOINLINE static u64 leaf_with_locals(u64 x)
{
	u64 v[6]; /* in the red zone */
	for (int i = 0; i < 6; i++)
		v[i] = x + (u64)i;
	sink = v[x % 6];
	return v[(x + 1) % 6];
}

NOINLINE static u64 middle(u64 x)
{
	u64 r = leaf(x);
	return r + leaf_with_locals(r);
}

/* The early way out needs no frame: the compiler makes one only behind it. */
NOINLINE static u64 early_out(u64 x)
{
	if (x < 3)
		return x;
	u64 a = middle(x), b = middle(x + 1);
	return a ^ b ^ leaf(a + b);
}

NOINLINE static u64 tail(u64 x)
{
	sink = x;
	return leaf(x + 5);
}

NOINLINE static u64 tail_with_frame(u64 x)
{
	u64 y = middle(x);
	sink = y;
	return tail(y);
}

NOINLINE static u64 recurse(u64 n)
{
	if (n == 0)
		return leaf(n);
	return recurse(n - 1) + n;
}

NOINLINE static u64 grow(u64 n)
{
	volatile u64 *v = __builtin_alloca(8 * (n + 1));
	for (u64 i = 0; i <= n; i++)
		v[i] = leaf(i);
	return v[n] + add_up((const u64 *)v, n + 1);
}

/* With -fstack-clash-protection, a loop touches each page. */
NOINLINE static u64 large_frame(u64 n)
{
	volatile u64 v[4096];
	v[n] = leaf(n);
	return v[n] + leaf(v[n]);
}

NOINLINE static u64 vla(u64 n)
{
	u64 sum = 0;
	for (u64 i = 1; i < n; i++) {
		volatile u64 v[i];
		v[i - 1] = leaf(i);
		sum += v[i - 1];
	}
	return sum;
}

NOINLINE static u64 aligned_locals(u64 n)
{
	_Alignas(64) volatile u64 v[16];
	for (u64 i = 0; i < 16; i++)
		v[i] = leaf(i + n);
	return v[n % 16];
}

NOINLINE static u64 aligned_alloca(u64 n)
{
	_Alignas(64) volatile u64 v[8];
	volatile u64 *w = __builtin_alloca(8 * (n % 7 + 1));
	v[n % 8] = leaf(n);
	w[n % 7] = v[n % 8];
	return middle(w[n % 7]);
}

NOINLINE static u64 table(u64 n)
{
	switch (n) {
	case 0:
		return leaf(7);
	case 1:
		sink = middle(n);
		return sink + 1;
	case 2:
		return leaf_with_locals(n) + 2;
	case 3:
		sink = n;
		break;
	case 4:
		sink = leaf(n) * leaf(n + 1);
		return middle(sink);
	case 5:
		return n * 77;
	case 6:
		sink += 6;
		return leaf(sink);
	default:
		sink = 0;
	}
	return leaf(n + sink);
}

/* Seven and more arguments go over the stack. */
NOINLINE static u64 many(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i)
{
	return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + leaf(g) + h * 8 + i;
}

NOINLINE static u64 calls_many(u64 x)
{
	u64 r = many(x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8);
	return r + many(r, 1, 2, 3, 4, 5, 6, 7, 8);
}

struct big {
	u64 v[12];
};

NOINLINE static u64 by_value(struct big b, u64 i)
{
	return b.v[i % 12] + leaf(b.v[0]);
}

NOINLINE static struct big returns_big(u64 x)
{
	struct big b;
	for (int i = 0; i < 12; i++)
		b.v[i] = leaf(x + (u64)i);
	return b;
}

NOINLINE static u64 sum_of(int n, ...)
{
	__builtin_va_list ap;
	u64 s = 0;
	__builtin_va_start(ap, n);
	for (int i = 0; i < n; i++)
		s += __builtin_va_arg(ap, u64);
	__builtin_va_end(ap);
	return leaf(s);
}

__attribute__((__noreturn__)) COLD static void give_up(u64 why)
{
	sink = leaf(why);
	for (;;)
		__asm__ volatile(EXIT ::: "memory");
}

NOINLINE static u64 may_give_up(u64 x)
{
	if (__builtin_expect(x == 0x123456789, 0))
		give_up(x);
	u64 y = middle(x);
	if (__builtin_expect(y == 0x123456789, 0))
		give_up(y);
	return y;
}

COLD static u64 unlikely(u64 x)
{
	return leaf(x) + 9;
}

/* Parts of this one may go to a section of their own. */
NOINLINE static u64 split(u64 x)
{
	u64 r = 0;
	for (u64 i = 0; i < x; i++) {
		if (__builtin_expect(i % 4 == 3, 0)) {
			r += unlikely(i);
			sink = r;
			r ^= unlikely(r);
		}
		r += leaf(i);
	}
	return r;
}

/* Whoever is called takes the arguments off the stack, in 32-bit code. */
CALLEE_POPS u64 takes_two(u64 a, u64 b)
{
	return leaf(a) ^ b;
}

CALLEE_POPS u64 takes_three(u64 a, u64 b, u64 c)
{
	u64 r = takes_two(a, c) + takes_two(b, c);
	return r + middle(r) + takes_two(r, a);
}

struct big returns_in_memory(u64 x);
NOINLINE struct big returns_in_memory(u64 x)
{
	struct big b = returns_big(x);
	b.v[x % 12] += leaf(x);
	return b;
}

typedef u64 op(u64);

NOINLINE static u64 by_pointer(op *const *ops, u64 n, u64 x)
{
	for (u64 i = 0; i < n; i++)
		x += ops[i](x);
	return x;
}

NOINLINE static u64 registers(u64 a, u64 b, u64 c, u64 d)
{
	u64 e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d);
	for (u64 i = 0; i < 3; i++) {
		e += leaf(f + i);
		f ^= g * h;
		g += leaf(e);
		h -= a + b + c + d;
	}
	return e + f + g + h;
}

#ifndef STACK_ALIGN
#define STACK_ALIGN 16384
#endif
static u64 stack_of[2][1024] __attribute__((__aligned__(STACK_ALIGN)));
static u64 *saved[2];
static u64 *home;

static void thread(int me)
{
	for (;;) {
		sink = middle((u64)me);
		switch_to(&saved[me], me == 1 ? &saved[0] : &home);
		sink = leaf(sink);
	}
}

static void thread_0(void)
{
	thread(0);
}

static void thread_1(void)
{
	thread(1);
}

NOINLINE static void make_thread(int i, void (*entry)(void))
{
	u64 *sp = &stack_of[i][1024];
	*--sp = 0; /* nowhere to return to */
	*--sp = (u64)entry;
	for (int r = 0; r < 6; r++)
		*--sp = 0;
	saved[i] = sp;
}

NOINLINE static void threads(void)
{
	make_thread(0, thread_0);
	make_thread(1, thread_1);
	for (int i = 0; i < 6; i++)
		switch_to(&home, &saved[1]); /* downwards */
}

NOINLINE static u64 shapes(u64 x)
{
	static op *const ops[] = { leaf,  middle,     early_out, tail, tail_with_frame,
				   table, may_give_up };
	struct big b = returns_big(x);
	u64 r = early_out(x) + early_out(x % 3) + tail(x) + tail_with_frame(x);
	r += large_frame(x % 5) + grow(x % 9) + vla(x % 6) + aligned_locals(x) +
	     aligned_alloca(x);
	for (u64 i = 0; i < 9; i++)
		r += table(i);
	r += calls_many(x) + by_value(b, x) + sum_of(4, x, r, 3UL, 4UL);
	load_cs();
	r += may_give_up(x) + split(9);
	r += takes_three(x, r, 5) + returns_in_memory(r).v[3] + takes_two(r, x);
	r += by_pointer(ops, sizeof(ops) / sizeof(*ops), x);
	return r + registers(x, r, 3, 4);
}

void program(void)
{
	for (u64 i = 0; i < 3; i++)
		sink += shapes(i * 7 + (u64)zero);
	sink += recurse(20);
	threads();
	if (!zero)
		give_up(1);
}
