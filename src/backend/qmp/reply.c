/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp/reply.c: see qmp/reply.h. */
#include "backend/qmp/reply.h"

#include <errno.h>
#include <string.h>

#define FLAG_L	 (1u << 21) /* of a code segment's descriptor: 64-bit */
#define FLAG_D	 (1u << 22) /* 32-bit; of a stack segment's: esp, not sp */
#define EFER_LMA (1u << 10)

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

/* p is at the opening quote; behind the closing one, or NULL. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/* Behind one value, at any depth, or NULL. */
static const char *skip_value(const char *p, const char *end)
{
	unsigned depth = 0;
	while (p && p < end) {
		char c = *p;
		if (!depth && (c == ',' || c == '}' || c == ']'))
			return p;
		if (c == '"') {
			p = skip_string(p, end);
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		p++;
	}
	return p;
}

static bool key_is(const char *key, const char *end, const char *name)
{
	size_t n = strlen(name);
	return (size_t)(end - key) == n + 2 && !memcmp(key + 1, name, n);
}

enum us_qmp_kind us_qmp_scan(const char *msg, size_t len, const char **ret_value,
			     size_t *ret_len)
{
	static const struct {
		const char *key;
		enum us_qmp_kind kind;
	} kinds[] = { { "return", US_QMP_RETURN },
		      { "error", US_QMP_ERROR },
		      { "event", US_QMP_EVENT },
		      { "QMP", US_QMP_GREETING } };
	const char *end = msg + len, *p = skip_blanks(msg, end);
	while (p < end && (*p == '{' || *p == ',')) {
		const char *key = skip_blanks(p + 1, end);
		const char *key_end = key < end && *key == '"' ? skip_string(key, end)
							       : NULL;
		if (!key_end)
			break;
		p = skip_blanks(key_end, end);
		if (p == end || *p != ':')
			break;
		const char *value = skip_blanks(p + 1, end);
		p = skip_value(value, end);
		if (!p)
			break;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
			if (!key_is(key, key_end, kinds[i].key))
				continue;
			*ret_value = value;
			*ret_len = (size_t)(p - value);
			return kinds[i].kind;
		}
	}
	return US_QMP_STRANGE;
}

enum us_qmp_event us_qmp_event(const char *value, size_t len)
{
	static const char *const names[] = {
		[US_QMP_STOP] = "\"STOP\"",
		[US_QMP_RESUME] = "\"RESUME\"",
		[US_QMP_SUSPEND] = "\"SUSPEND\"",
		[US_QMP_WAKEUP] = "\"WAKEUP\"",
	};
	for (size_t i = US_QMP_STOP; i < sizeof(names) / sizeof(*names); i++)
		if (len == strlen(names[i]) && !memcmp(value, names[i], len))
			return (enum us_qmp_event)i;
	return US_QMP_OTHER;
}

/* The character that an escape stands for; *p is behind the backslash and moves on. */
static char unescape(const char **p, const char *end)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	char c = *(*p)++;
	const char *at = c ? strchr(from, c) : NULL;
	if (at)
		return to[at - from];
	if (c != 'u')
		return c > 0 ? c : '?';
	int code = 0;
	for (int i = 0; i < 4; i++, (*p)++) {
		int digit = *p < end ? hex_digit(**p) : -1;
		if (digit < 0)
			return '?';
		code = code << 4 | digit;
	}
	return code > 0 && code < 0x80 ? (char)code : '?';
}

long us_qmp_unquote(const char *json, size_t len, char *buf, size_t size)
{
	const char *p = json, *end = json + len;
	size_t n = 0;
	if (p == end || *p++ != '"')
		return -EPROTO;
	while (p < end && *p != '"') {
		char c = *p++;
		if (c == '\\' && p < end)
			c = unescape(&p, end);
		else if (c == '\0' || (unsigned char)c >= 0x80)
			c = '?';
		if (n + 1 < size)
			buf[n++] = c;
	}
	buf[n] = '\0';
	return p < end ? (long)n : -EPROTO;
}

/* A hexadecimal number of at most 16 digits that ends at a blank; false if not. */
static bool read_hex(const char **p, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned n = 0;
	for (; hex_digit(**p) >= 0 && n < 17; (*p)++, n++)
		v = v << 4 | (uint64_t)hex_digit(**p);
	*ret = v;
	return n && n < 17 && (!**p || is_blank(**p));
}

/* The registers that are used, by the numbers of their bits in `seen`. */
enum { PC = 16, CR0, CR3, CR4, EFER, CPL, HLT, CODE, STACK, N_VALUE };

static const struct {
	const char *name;
	uint8_t id;
} names[] = {
	{ "RAX", US_X86_RAX }, { "EAX", US_X86_RAX }, { "RDX", US_X86_RDX },
	{ "EDX", US_X86_RDX }, { "RCX", US_X86_RCX }, { "ECX", US_X86_RCX },
	{ "RBX", US_X86_RBX }, { "EBX", US_X86_RBX }, { "RSI", US_X86_RSI },
	{ "ESI", US_X86_RSI }, { "RDI", US_X86_RDI }, { "EDI", US_X86_RDI },
	{ "RBP", US_X86_RBP }, { "EBP", US_X86_RBP }, { "RSP", US_X86_RSP },
	{ "ESP", US_X86_RSP }, { "R8", US_X86_R8 },   { "R9", US_X86_R9 },
	{ "R10", US_X86_R10 }, { "R11", US_X86_R11 }, { "R12", US_X86_R12 },
	{ "R13", US_X86_R13 }, { "R14", US_X86_R14 }, { "R15", US_X86_R15 },
	{ "RIP", PC },	       { "EIP", PC },	      { "CR0", CR0 },
	{ "CR3", CR3 },	       { "CR4", CR4 },	      { "EFER", EFER },
	{ "CPL", CPL },	       { "HLT", HLT },	      { "CS", CODE },
	{ "SS", STACK },
};

/* What a vCPU's part of the text holds. */
struct values {
	uint64_t v[N_VALUE];
	struct descriptor {
		uint64_t base, limit, flags;
	} code, stack;
	uint32_t seen;
};

static int name_id(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == len && !memcmp(names[i].name, name, len))
			return names[i].id;
	return -1;
}

static const char *skip_spaces(const char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

static bool read_more(const char **p, uint64_t *ret)
{
	*p = skip_spaces(*p);
	return read_hex(p, ret);
}

/* "=value" behind a name; of CS and SS the descriptor too. False: no number. */
static bool read_value(const char **p, int id, struct values *ret)
{
	struct descriptor *d = id == CODE    ? &ret->code
			       : id == STACK ? &ret->stack
					     : NULL;
	if (!read_hex(p, &ret->v[id]))
		return false;
	ret->seen |= 1u << id;
	return !d || (read_more(p, &d->base) && read_more(p, &d->limit) &&
		      read_more(p, &d->flags));
}

static int read_values(const char **at, struct values *ret)
{
	const char *p = *at;
	while (*p && strncmp(p, "CPU#", 4)) {
		if (is_blank(*p)) {
			p++;
			continue;
		}
		const char *name = p;
		while ((*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))
			p++;
		int id = name_id(name, (size_t)(p - name));
		const char *equals = skip_spaces(p);
		if (id >= 0 && *equals == '=') {
			p = equals + 1;
			/* The first of a name counts: MMX and SSE dumps follow. */
			if (!(ret->seen >> id & 1) && !read_value(&p, id, ret))
				return -EPROTO;
		}
		while (*p && !is_blank(*p))
			p++;
	}
	*at = p;
	return 0;
}

static void to_regs(const struct values *v, struct us_regs *r)
{
	*r = (struct us_regs){ .valid = (uint16_t)v->seen };
	memcpy(r->gpr, v->v, 16 * sizeof(r->gpr[0]));
	bool wide = (v->v[EFER] & EFER_LMA) && (v->code.flags & FLAG_L);
	r->bits = wide ? 64 : v->code.flags & FLAG_D ? 32 : 16;
	r->pc = v->v[PC];
	r->sp = v->v[US_X86_RSP];
	r->fp = v->v[US_X86_RBP];
	if (!wide) {
		uint32_t width = v->stack.flags & FLAG_D ? UINT32_MAX : UINT16_MAX;
		r->pc = (uint32_t)(v->code.base + r->pc);
		r->sp = (uint32_t)(v->stack.base + (r->sp & width));
		r->fp = (uint32_t)(v->stack.base + (r->fp & width));
	}
	r->user = v->v[CPL] == 3;
	r->space.root = v->v[CR3];
	r->space.mode = us_x86_paging_mode(v->v[CR0], v->v[CR4], v->v[EFER]);
}

/* The vCPU's registers at *at, which moves behind them; 1 or -EPROTO. */
static int read_vcpu(const char **at, unsigned index, struct us_qmp_vcpu *ret)
{
	const uint32_t needed = 1u << PC | 1u << US_X86_RSP | 1u << US_X86_RBP |
				1u << CR0 | 1u << CR3 | 1u << CR4 | 1u << CPL |
				1u << HLT | 1u << CODE | 1u << STACK;
	struct values v = { 0 };
	int r = read_values(at, &v);
	if (r < 0 || (v.seen & needed) != needed)
		return -EPROTO;
	ret->index = index;
	ret->halted = v.v[HLT];
	to_regs(&v, &ret->regs);
	ret->code_base = ret->regs.bits == 64 ? 0 : (uint32_t)v.code.base;
	return 1;
}

int us_qmp_next_vcpu(const char **at, struct us_qmp_vcpu *ret)
{
	const char *p = strstr(*at, "CPU#");
	if (!p)
		return 0;
	unsigned index = 0;
	for (p += 4; *p >= '0' && *p <= '9' && index < 10000; p++)
		index = index * 10 + (unsigned)(*p - '0');
	*at = p;
	return read_vcpu(at, index, ret);
}

int us_qmp_only_vcpu(const char *text, unsigned vcpu, struct us_qmp_vcpu *ret)
{
	return strstr(text, "CPU#") ? us_qmp_next_vcpu(&text, ret)
				    : read_vcpu(&text, vcpu, ret);
}

bool us_qmp_read_dump(const char *text, uint8_t *buf, size_t len)
{
	while (len >= 8) {
		const char *p = strstr(text, " 0x");
		uint64_t word;
		if (!p)
			return false;
		text = p + 3;
		if (!read_hex(&text, &word))
			return false;
		memcpy(buf, &word, 8);
		buf += 8;
		len -= 8;
	}
	return !len;
}

/* hmp_info_sev(): "handle: 1\nstate: running\n...", later "SEV type: sev-snp\n..."; or
 * "SEV is not enabled", an error, nothing.  It does not tell SEV-ES. */
const char *us_qemu_says_sev(const char *text)
{
	if (strncmp(text, "state: ", 7) != 0 && !strstr(text, "\nstate: "))
		return "";
	return strcasestr(text, "sev-snp") ? "SEV-SNP" : "SEV";
}

unsigned us_qmp_n_vcpus(const char *text, size_t len)
{
	static const char key[] = "\"cpu-index\"";
	const char *end = text + len, *p = text;
	unsigned n = 0;
	for (; (p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1)); n++)
		p += sizeof(key) - 1;
	return n;
}

bool us_qmp_runs(const char *text, size_t len)
{
	/* "running" is also the name of a status. */
	static const char key[] = "\"running\"", yes[] = "true";
	const char *end = text + len, *p = text;
	while ((p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1))) {
		for (p += sizeof(key) - 1; p < end && (is_blank(*p) || *p == ':');)
			p++;
		if ((size_t)(end - p) >= sizeof(yes) - 1 &&
		    !memcmp(p, yes, sizeof(yes) - 1))
			return true;
	}
	return false;
}

bool us_qmp_migrates(const char *text, size_t len)
{
	/* QAPI's MigrationStatus; all others are on the way to one of these. */
	static const char *const over[] = { "none", "completed", "failed",
					    "cancelled" };
	static const char key[] = "tatus";
	const char *end = text + len, *p = memmem(text, len, key, sizeof(key) - 1);
	if (!p)
		return false;
	for (p += sizeof(key) - 1; p < end && (is_blank(*p) || *p == '"' || *p == ':');)
		p++;
	for (size_t i = 0; i < sizeof(over) / sizeof(*over); i++) {
		size_t n = strlen(over[i]);
		if ((size_t)(end - p) >= n && !memcmp(p, over[i], n))
			return false;
	}
	return p < end;
}
