// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shares.cc: known shares and a known call tree (README.md), in C++: namespaces, templates,
 * virtual functions, lambdas, inlined functions, exceptions.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#define VISIBLE __attribute__((noinline, noclone))

template <typename T> inline void keep(T &value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
}

namespace truth {

struct Function {
	const char *name;
	uint64_t calls = 0, ticks = 0;
};

static std::vector<Function> functions = { { "f60" },	     { "f30" },	 { "f10" },
					   { "calls_leaf" }, { "dive" }, { "ask_kernel" },
					   { "throws" },     { "report" } };
static uint64_t start;

inline uint64_t now()
{
	using namespace std::chrono;
	return static_cast<uint64_t>(
		duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
			.count());
}

inline void count(size_t function)
{
	uint64_t t = now();
	functions[function].ticks += t - start;
	functions[function].calls++;
	start = t;
}

VISIBLE void report()
{
	static uint64_t seq;
	uint64_t total = 0;
	std::string text = "TRUTH {\"vcpu\":0,\"seq\":" + std::to_string(++seq) +
			   ",\"tsc\":" + std::to_string(now()) +
			   ",\"tsc_hz\":1000000000,\"fn\":{";
	for (const Function &f : functions) {
		total += f.ticks;
		text += std::string(&f == &functions[0] ? "" : ",") + "\"" + f.name +
			"\":{\"calls\":" + std::to_string(f.calls) +
			",\"self\":" + std::to_string(f.ticks) + "}";
	}
	text += "},\"idle\":0,\"total\":" + std::to_string(total) + "}\n";
	fputs(text.c_str(), stdout);
	fflush(stdout);
}

} // namespace truth

namespace work {

inline __attribute__((always_inline)) uint64_t spin(uint64_t n)
{
	uint64_t x = n;
	for (uint64_t i = 0; i < n; i++) {
		x = x * 3 + i;
		keep(x);
	}
	return x;
}

struct Worker {
	virtual uint64_t f60(uint64_t n) = 0;
	virtual ~Worker() = default;
};

template <typename T> struct Box : Worker {
	T factor;
	explicit Box(T f) : factor(f)
	{
	}
	VISIBLE uint64_t f60(uint64_t n) override /* lines of f60 */
	{
		return spin(6 * n) + static_cast<uint64_t>(factor);
	} /* end */
	VISIBLE T f30(T n) /* lines of f30 */
	{
		return static_cast<T>(spin(3 * static_cast<uint64_t>(n))) + factor;
	} /* end */
};

template <int Times, typename F> VISIBLE uint64_t f10(F &&function) /* lines of f10 */
{
	uint64_t x = 0;
	for (int i = 0; i < Times; i++) {
		x += function(x);
		keep(x);
	}
	return x;
} /* end */

VISIBLE uint64_t leaf(uint64_t x) /* lines of leaf */
{
	for (int i = 0; i < 20; i++) {
		x = x * 5 + 1;
		keep(x);
	}
	return x;
} /* end */

VISIBLE uint64_t calls_leaf(uint64_t n)
{
	uint64_t x = n;
	for (uint64_t i = 0; i < n / 10; i++)
		x ^= leaf(x);
	return x;
}

VISIBLE uint64_t dive(const std::string &text, uint64_t n, int depth)
{
	std::string longer = text + "."; // a destructor runs after the call
	uint64_t x = depth ? dive(longer, n, depth - 1) : spin(n);
	keep(x);
	return x + longer.size();
}

VISIBLE uint64_t ask_kernel(uint64_t n)
{
	struct rusage usage;
	uint64_t x = 0;
	for (uint64_t i = 0; i < n / 200 + 1; i++) {
		getrusage(RUSAGE_SELF, &usage);
		x += static_cast<uint64_t>(usage.ru_nsignals + getppid());
	}
	keep(x);
	return x;
}

VISIBLE uint64_t fails(uint64_t n)
{
	if (n)
		throw std::runtime_error("as it should");
	return n;
}

VISIBLE uint64_t throws(uint64_t n)
{
	uint64_t x = 0;
	for (uint64_t i = 0; i < n / 3000 + 1; i++) {
		try {
			x += fails(i + 1);
		} catch (const std::exception &e) {
			x += static_cast<uint64_t>(e.what()[0]);
		}
	}
	keep(x);
	return x;
}

VISIBLE uint64_t stage(Worker &worker, uint64_t n)
{
	auto &box = static_cast<Box<int64_t> &>(worker);
	uint64_t x = worker.f60(n);
	truth::count(0);
	x += static_cast<uint64_t>(box.f30(static_cast<int64_t>(n)));
	truth::count(1);
	x += f10<4>([n](uint64_t y) { return spin(n / 4) ^ y; });
	truth::count(2);
	x += calls_leaf(n);
	truth::count(3);
	x += dive("", n, 20);
	truth::count(4);
	x += ask_kernel(n);
	truth::count(5);
	x += throws(n);
	truth::count(6);
	return x;
}

VISIBLE void run(uint64_t unit)
{
	Box<int64_t> box(7);
	uint64_t next = 0, x = 0;
	for (;;) {
		x += stage(box, unit);
		if (truth::start > next) {
			truth::report();
			next = truth::start + 500000000;
			truth::count(7);
		}
		keep(x);
	}
}

} // namespace work

static void print_tree()
{
	puts("TREE main\nTREE main;run\nTREE main;run;report\nTREE main;run;stage");
	for (const char *name : { "f60", "f30", "f10", "calls_leaf", "calls_leaf;leaf",
				  "ask_kernel", "throws", "throws;fails" })
		printf("TREE main;run;stage;%s\n", name);
	std::string path = "TREE main;run;stage";
	for (int depth = 1; depth <= 21; depth++)
		puts((path += ";dive").c_str());
	puts("READY vcpus=1");
}

int main()
{
	print_tree();
	truth::start = truth::now();
	uint64_t x = work::spin(300000);
	keep(x);
	uint64_t unit = 300000ul * 3000000 / (truth::now() - truth::start + 1) + 1;
	truth::start = truth::now();
	work::run(unit);
}
