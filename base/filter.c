#include "base/filter.h"
#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

static void add(struct filter *filter, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
	filter->code[filter->len++] = (struct sock_filter){code, yes, no, value};
}

void filter_begin(struct filter *filter, uint32_t foreign)
{
	filter->len = 0;
	filter_load(filter, offsetof(struct seccomp_data, arch));
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_NATIVE, 1, 0);
	filter_return(filter, foreign);
	filter_load(filter, offsetof(struct seccomp_data, nr));
	filter_return_if(filter, BPF_JGE, X32_CALLS, FILTER_REFUSE(ENOSYS));
}

void filter_load(struct filter *filter, size_t offset)
{
	add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

void filter_mask(struct filter *filter, uint32_t bits)
{
	add(filter, BPF_ALU | BPF_AND | BPF_K, bits, 0, 0);
}

void filter_xor(struct filter *filter, size_t offset)
{
	add(filter, BPF_MISC | BPF_TAX, 0, 0, 0);
	filter_load(filter, offset);
	add(filter, BPF_ALU | BPF_XOR | BPF_X, 0, 0, 0);
}

void filter_return(struct filter *filter, uint32_t verdict)
{
	add(filter, BPF_RET | BPF_K, verdict, 0, 0);
}

unsigned filter_if(struct filter *filter, uint16_t test, uint32_t value)
{
	add(filter, (uint16_t)(BPF_JMP | test | BPF_K), value, 0, 0);
	return filter->len;
}

unsigned filter_if_either(struct filter *filter, uint32_t one, uint32_t other)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0);
	return filter_if(filter, BPF_JEQ, other);
}

void filter_end_if(struct filter *filter, unsigned at)
{
	filter->code[at - 1].jf = (uint8_t)(filter->len - at);
}

void filter_return_if(struct filter *filter, uint16_t test, uint32_t value, uint32_t verdict)
{
	unsigned at = filter_if(filter, test, value);

	filter_return(filter, verdict);
	filter_end_if(filter, at);
}

void filter_calls(struct filter *filter, const uint32_t *calls, size_t count, uint32_t verdict)
{
	for (size_t i = 0; i < count; i++)
		filter_return_if(filter, BPF_JEQ, calls[i], verdict);
}

/* SPEC_ALLOW: before Linux 5.16, a filter slowed the whole process down otherwise. */
int filter_install(struct filter *filter, unsigned long flags)
{
	struct sock_fprog program = {.filter = filter->code};
	int r;

	if (!AUDIT_ARCH_NATIVE)
		return -EOPNOTSUPP;
	filter_return(filter, SECCOMP_RET_ALLOW);
	program.len = filter->len;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	return r < 0 ? -errno : r;
}
