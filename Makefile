# foldfs: build, test, install. `make help` says what there is.
#
#   V=1                show the commands
#   SANITIZE=LIST      address,undefined or thread: a build of its own in build-LIST/
#   DEBUG=1            -O0 -g3
#   STATIC=1           static programs, in build-static/: doc/portability.md
#   EMULATOR=PROGRAM   runs what CC compiles, where that is for another architecture
#   DEPS=yes           install what check, demo and bench lack (Debian 12); else they name it
#   PREFIX, DESTDIR    where install puts things (/usr/local)
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

PREFIX   ?= /usr/local
PYTHON   ?= /usr/bin/python3
PKG_CONFIG ?= pkg-config
SANITIZE ?=
DEPS     ?= no
VERSION  := 0.1.0

# --- flags ---------------------------------------------------------------------------------
comma    := ,
empty    :=
space    := $(empty) $(empty)
B        := build$(if $(STATIC),-static)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))

# Asked only by goals that compile, once, and after the packages are there.
pkg       = $(or $(pkg-$(subst $(space),-,$(1))),$(eval pkg-$(subst $(space),-,$(1)) := \
            $(shell $(PKG_CONFIG) $(1)))$(pkg-$(subst $(space),-,$(1))))
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wwrite-strings
# Silent where there is no compiler yet: DEPS=yes installs it.
release  := $(shell $(CC) -dumpversion 2>/dev/null | cut -d. -f1)
is_old   := $(shell [ "$(release)" -ge 12 ] 2>/dev/null || echo yes)
# gcc before 12 thinks that an initializer with a name has none, after a compound literal or a load.
WARN     += $(if $(is_old),-Wno-missing-field-initializers)
# What is sanitized runs as fast with -O1, and is compiled in three quarters of the time; lines are
# all that reports need of what -g knows, which saves as much again. At a fixed address a program
# need not relocate what AddressSanitizer knows of it: a seventh of the time of its start.
OPTIMIZE := $(if $(DEBUG),-O0 -g3,$(if $(SANITIZE),-O1 -g1,-O2 -g))
# Whoever sets CFLAGS or LDFLAGS, as distributions do, chooses the hardening, too. _FORTIFY_SOURCE
# needs -O, and hides what AddressSanitizer looks for.
target   := $(shell $(CC) -dumpmachine 2>/dev/null)
HARDEN   := $(if $(DEBUG)$(SANITIZE),,-fPIE -fstack-protector-strong \
            -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if $(is_old),2,3) \
            $(if $(filter x86_64%,$(target)),-fcf-protection) \
            $(if $(filter aarch64%,$(target)),-mbranch-protection=standard))
CFLAGS   ?= $(OPTIMIZE) $(HARDEN)
LDFLAGS  ?= -Wl,-z,relro,-z,now $(if $(filter -fPIE,$(CFLAGS)),-pie)
# The same bytes wherever it is built.
same     := $(if $(DEBUG)$(SANITIZE),,-ffile-prefix-map='$(CURDIR)'=.)
override CFLAGS += -std=gnu17 $(WARN) $(if $(WERROR),-Werror) -fno-strict-aliasing $(same) \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all) \
            $(if $(SANITIZE),-fno-omit-frame-pointer) \
            $(if $(findstring address,$(SANITIZE)),-fno-pie) \
            $(if $(findstring fuzzer,$(SANITIZE)),$(FUZZ_CFLAGS))
override CPPFLAGS += -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFOLDFS_VERSION='"$(VERSION)"'
# musl gives threads this stack instead of 128 KiB, glibc 8 MiB anyway.
override LDFLAGS += -Wl,-z,stack-size=8388608 $(if $(SANITIZE),-fsanitize=$(SANITIZE)) \
            $(if $(findstring address,$(SANITIZE)),-no-pie)

# LMDB brings no lmdb.pc of its own. Joined once, since every file is compiled with it.
LIBRARIES   = libjpeg libarchive zlib json-c libxxhash nettle
LIB_CFLAGS  = $(eval LIB_CFLAGS := $(foreach name,$(LIBRARIES) lmdb libcurl,\
              $(call pkg,--cflags $(name) 2>/dev/null)))$(LIB_CFLAGS)
LMDB_LIBS   = $(call pkg,--libs lmdb 2>/dev/null || echo -llmdb)
override CPPFLAGS += $(LIB_CFLAGS)

# Programs that run on any Linux: doc/portability.md. Only what is called is linked; the map says of
# which libraries.
ifdef STATIC
override CPPFLAGS += -DFOLDFS_STATIC=1
sections := -ffunction-sections -fdata-sections
override CFLAGS += $(sections)
override LDFLAGS += -static-pie -Wl,--gc-sections,-Map=$@.map -s
$(B)/pack/xxh3_avx2.o: override CFLAGS += $(if $(filter x86_64%,$(target)),-mavx2)
# Of Debian's source: its own archive wants all protocols, and finds servers by modules of libc.
curl     := $(B)/curl/libcurl.a
override CPPFLAGS += -I$(dir $(curl))
STATIC_LIBS = $(abspath $(curl)) -lssl -lcrypto -lcares -lsnappy -lzstd -llz4 -llzma -lbz2 -lacl \
	      -lz -lstdc++ -lm
endif

FUSE_CFLAGS = $(call pkg,--cflags fuse3)
FUSE_LIBS   = $(call pkg,--libs fuse3)

ifdef V
Q :=
say =
else
Q := @
say = @printf '  %-5s %s\n' '$(1)' '$(2)';
endif

# --- programs ------------------------------------------------------------------------------
# A folder is a library; a program is its main folder and the libraries its arrows allow.
base_src  := $(wildcard base/*.c)
remote_src := $(wildcard remote/*.c)
pack_src  := $(wildcard pack/*.c pack/foreign/*.c)
write_src := $(wildcard pack/write/*.c)
cache_src := $(wildcard cache/*.c cache/plan/*.c cache/order/*.c)
tool_src  := $(wildcard pack/tool/*/*.c)
lists_src := $(wildcard lists/*.c)
fs_src    := $(wildcard fs/*.c fs/life/*.c fs/nofuse/*.c)
stat_src  := $(wildcard fs/stat/*.c)
unit_src  := $(wildcard tests/unit/test_*.c)

objects    = $(sort $(patsubst %.c,$(B)/%.o,$(1)))
programs  := $(B)/foldpack $(B)/foldfs $(B)/foldstat
units     := $(patsubst tests/unit/%.c,$(B)/unit/%,$(unit_src))
libs      := $(B)/libtool.a $(B)/libwrite.a $(B)/libcache.a $(B)/liblists.a $(B)/libpack.a \
             $(B)/libremote.a $(B)/libbase.a

# What foldpack and foldfs run in a python3, from beside them.
scripts   := $(patsubst python/foldfs/%,$(B)/%,$(wildcard python/foldfs/sources/*.py \
             python/foldfs/tools/*.*))
# What processes of a job load: of no C library, and never sanitized.
preload   := $(B)/foldfs-preload.so
# Whoever hands on static programs hands on libraries.
licenses := $(if $(STATIC),$(B)/licenses)
# Of tests/portability.sh.
systems  := bullseye focal aarch64 kernel nfs

.PHONY: all static check-static check-wheel check-old $(addprefix check-,$(systems))
.PHONY: check-cluster run-check-cluster check-containers run-check-containers
.DELETE_ON_ERROR:
.SECONDEXPANSION:
all: $(programs) $(scripts) $(B)/sources/__pycache__ $(preload) $$(completions)

$(scripts): $(B)/%: python/foldfs/%
	$(Q)mkdir -p $(@D) && cp $< $@

# A third of the time in which a script starts. Without it, or with another Python, it starts as
# well.
compile = $(Q)$(PYTHON) -m compileall -q --invalidation-mode checked-hash $(1) || :
$(B)/sources/__pycache__: $(filter $(B)/sources/%,$(scripts))
	$(call compile,$(@D))
	$(Q)mkdir -p $@ && touch $@

preload_objects := $(patsubst %.c,$(B)/%.o,$(wildcard fs/nofuse/preload/*.c))
$(preload): $(preload_objects)
	$(call say,LINK,$@)$(CC) -shared -nostdlib -Wl,-Bsymbolic,-z,relro,-z,now,-z,noexecstack \
		$(if $(STATIC),-s) -o $@ $^
$(preload_objects): override CFLAGS = -std=gnu17 $(WARN) $(if $(WERROR),-Werror) -O2 \
	-g -fPIC -ffreestanding -fno-stack-protector $(same)

static:
	$(call deps,static)
	+@$(MAKE) $(jobs) STATIC=1 all

$(B)/curl/libcurl.a: packaging/curl.sh
	$(call say,CURL,$@)CC='$(CC)' CFLAGS='$(OPTIMIZE) $(HARDEN) $(same) $(sections)' sh $< $(@D)

$(B)/licenses: packaging/licenses.py $(programs)
	$(call say,COPY,$@)$(PYTHON) -B $< $@ $(programs:=.map)

# By what they do in an empty root, and by mounts as of any other build; of what they cannot load,
# tests are left out.
pytest_static = $(Q)FOLDFS_BUILD=$(abspath build-static) $(PYTEST) -m '$(1) and ($(MARKED))' \
	$(2) $(patsubst %,tests/mount/test_%.py,static wheel python older tree tar verify foldstat \
	sandbox remote s3 foreign_far cache_dir cache_dir_shared)
check-static: wheel
	$(call pytest_static,not alone,-n $(shell nproc))
	$(call pytest_static,alone)

# In bare roots of other systems, which are made first: see the test.
check-wheel: wheel
	$(Q)FOLDFS_BUILD=$(abspath build-static) PYTHONPATH=tests/mount $(PYTEST) -vv -p conftest \
		--rootdir=tests/wheel tests/wheel

# Eight nodes, a proxy and a store, each in a network of its own: seen with `-s`.
check-cluster:
	$(call deps,cluster)
	@$(MAKE) $(jobs) run-check-cluster

run-check-cluster: all
	$(Q)FOLDFS_BUILD=$(abspath $(B)) PYTHONPATH=tests/mount $(PYTEST) -s -p conftest \
		--rootdir=tests/cluster tests/cluster $(TESTS)

# Docker, containerd and Podman, which are unpacked first: see the script.
check-containers:
	$(call deps,check)
	@$(MAKE) $(jobs) run-check-containers

run-check-containers: all
	$(Q)FOLDFS_BUILD=$(abspath $(B)) PYTHON=$(PYTHON) sh tests/containers/run.sh $(TESTS)

# With other systems, which are made first: see the script.
check-old: check-bullseye check-focal
$(addprefix check-,$(systems)):
	$(Q)sh tests/portability.sh $(@:check-%=%)

tool_libs = -Wl,--as-needed $(LMDB_LIBS) $(call pkg,--libs $(LIBRARIES)) -lpthread -ldl -lm
fs_libs   = $(FUSE_LIBS) $(call pkg,--libs libxxhash nettle) -lpthread -ldl -lm

$(B)/foldpack: $(B)/pack/tool/cli/main.o $(B)/libtool.a $(B)/libwrite.a $(B)/libpack.a \
		$(B)/libremote.a $(B)/libbase.a
$(B)/foldpack: LIBS = $(tool_libs)
$(B)/foldfs: $(call objects,$(fs_src)) $(B)/libcache.a $(B)/liblists.a $(B)/libpack.a \
		$(B)/libremote.a $(B)/libbase.a
$(B)/foldfs: LIBS = $(fs_libs)
$(B)/foldstat: $(call objects,$(stat_src)) $(B)/libbase.a
$(B)/foldstat: LIBS = $(call pkg,--libs json-c ncursesw) -lpthread -lm
$(programs):
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LIBS) $(STATIC_LIBS)

$(B)/libtool.a: $(call objects,$(filter-out %/main.c,$(tool_src)))
$(B)/libbase.a: $(call objects,$(base_src))
$(B)/libremote.a: $(call objects,$(remote_src))
$(B)/libpack.a: $(call objects,$(pack_src))
$(B)/libwrite.a: $(call objects,$(write_src))
$(B)/libcache.a: $(call objects,$(cache_src))
$(B)/liblists.a: $(call objects,$(lists_src))
# Appended (q), not replaced (r): files of two folders may have the same name.
$(libs):
	$(call say,AR,$@)rm -f $@ && $(AR) qcsD $@ $^

completions := $(addprefix $(B)/completion/foldfs.,bash fish zsh)
$(B)/completion/table: completion/table.sh $(programs)
	$(call say,MAKE,$@)mkdir -p $(@D) && sh $< $(B) >$@
$(completions): $(B)/completion/%: completion/% $(B)/completion/table
	$(call say,MAKE,$@)sed -e '/^@TABLE@$$/{r $(B)/completion/table' -e 'd}' $< >$@

# Loops over all pixels: vectors halve the time.
$(B)/pack/tool/image/resize.o: override CFLAGS += $(if $(DEBUG),,-O3)
# What searches for orders, sanitized or not.
$(B)/cache/order/%.o: override CFLAGS += $(if $(DEBUG),,-O2)
$(B)/fs/%.o: override CPPFLAGS += $(FUSE_CFLAGS)
$(B)/fs/stat/screen.o: override CPPFLAGS += $(call pkg,--cflags ncursesw)
$(B)/%.o: %.c Makefile | $(curl)
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Unit tests run for moments: with AddressSanitizer it takes 2 to 8 times as long to compile them
# with -O1. What they test is compiled as ever.
$(B)/tests/unit/%.o: override CFLAGS += $(if $(DEBUG)$(findstring address,$(SANITIZE)),-O0,-O1)

# A unit test may call anything below fs/.
$(B)/unit/test_stat $(B)/unit/test_view $(B)/unit/test_prometheus: $(call objects,$(addprefix \
		fs/stat/,asker.c history.c mounts.c page.c prometheus.c snapshot.c verdict.c view.c))
$(B)/unit/test_memory: $(call objects,fs/memory.c)
$(B)/unit/test_pressure: $(call objects,fs/pressure.c fs/memory.c)
$(B)/unit/test_inval: $(call objects,fs/inval.c)
$(B)/unit/test_busy_poll: $(call objects,fs/busy_poll.c)
$(B)/unit/test_stall: $(call objects,fs/stall.c)
$(B)/unit/test_resolve: $(call objects,$(addprefix fs/nofuse/,job.c resolve.c skeleton.c) \
	fs/life/place.c fs/tree.c)
$(B)/unit/test_skeleton: $(call objects,fs/nofuse/skeleton.c fs/life/place.c fs/tree.c)
$(B)/unit/test_listener: $(call objects,fs/nofuse/listener.c)
$(B)/unit/test_sandbox: $(call objects,$(addprefix fs/life/,sandbox.c helper.c))
# Of the tool, threads need these; with ThreadSanitizer all others would be compiled for nothing.
$(B)/unit/test_batch_scan: $(call objects,pack/tool/read/batch_scan.c \
		$(addprefix pack/tool/work/,batches.c interrupt.c pipeline.c reads_ahead.c))
$(B)/unit/test_batch_ahead: $(call objects,$(addprefix pack/tool/work/,batch_ahead.c batches.c \
		interrupt.c reads_ahead.c))
$(B)/unit/test_pipeline: $(call objects,pack/tool/work/pipeline.c)
$(B)/unit/test_coprocess: $(call objects,$(addprefix pack/tool/work/,coprocess.c interrupt.c))
$(B)/unit/test_scan: $(call objects,$(addprefix pack/tool/import/,order.c entry_table.c))
linked := $(if $(filter thread,$(SANITIZE)),$(filter-out %/libtool.a,$(libs)),$(libs))
$(B)/unit/%: $(B)/tests/unit/%.o $(linked)
	$(call say,LINK,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		$(filter %.a,$^) $(call pkg,--libs cmocka) $(tool_libs)

# --- tests, demo, bench -----------------------------------------------------------------------
bench_programs := $(B)/bench/reader $(B)/bench/netfs
$(B)/tests/bench/netfs.o: override CPPFLAGS += $(FUSE_CFLAGS)
$(B)/bench/netfs: LIBS = $(FUSE_LIBS)
$(bench_programs): $(B)/bench/%: $(B)/tests/bench/%.o $(B)/libbase.a
	$(call say,LINK,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ \
		$(filter %.o %.a,$^) $(LIBS) -lpthread

# The programs, refused memory, threads and processes: tests/faults/refuse.c.
refusals := malloc calloc realloc reallocarray aligned_alloc posix_memalign strdup strndup \
	    asprintf vasprintf getline __getdelim realpath fopen fdopen opendir fdopendir mmap \
	    glob fork pthread_create pipe2 eventfd memfd_create socketpair
refused  := $(B)/refused/foldpack $(B)/refused/foldfs
$(B)/refused/foldpack: $(B)/pack/tool/cli/main.o $(filter-out $(B)/libcache.a,$(libs))
$(B)/refused/foldpack: LIBS = $(tool_libs)
$(B)/refused/foldfs: $(call objects,$(fs_src)) $(filter-out $(B)/libtool.a $(B)/libwrite.a,$(libs))
$(B)/refused/foldfs: LIBS = $(fs_libs)
$(refused): $(B)/tests/faults/refuse.o
	$(call say,LINK,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) \
		$(addprefix -Wl$(comma)--wrap=,$(refusals)) -o $@ $(filter %.o %.a,$^) $(LIBS)
	$(Q)ln -sfn ../sources ../tools $(@D)/

# The test goals first see to the packages, then call themselves again, so that nothing is
# compiled, and pkg-config not asked, before they are there.
deps = @DEPS=$(DEPS) sh tests/deps.sh $(1)
sanitized = $(MAKE) SANITIZE=$(1)

# As many jobs as there are processors, unless make was told how many.
jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: check run-check soak run-soak soak-readers check-unit check-mount check-clients
.PHONY: run-check-clients lint analyze run-analyze map demo run-demo bench run-bench fuzz run-fuzz
.PHONY: check-doctor figures pictures help
check:
	$(call deps,check)
	@$(MAKE) $(jobs) run-check

# One after the other: tests are not to compete with compilers, nor with each other.
run-check: all
	@$(MAKE) lint
	@$(MAKE) $(unsanitized)
	$(Q)sh tests/unit/threads.sh "$(packers)" $(unsanitized)
	+@$(call sanitized,thread) check-unit beside='$(unsanitized)'
	+@$(call sanitized,address$(comma)undefined) check-unit
	+@$(call sanitized,address$(comma)undefined) check-mount MARKED='not slow and not plain'
	@$(MAKE) check-mount MARKED='not slow and plain' FILES='$(call marked,plain)'

# What takes long: many epochs of orders that must not be found, batches of packs as large as they
# are, and the mount tests that check leaves out: those marked slow, and with the plain build those
# that it runs sanitized.
EPOCHS ?= 100
soak:
	$(call deps,check)
	@$(MAKE) $(jobs) run-soak

soaked := $(addprefix $(B)/unit/test_,oracle resume seeds)
run-soak: all $(soaked)
	$(Q)ORACLE_EPOCHS=$(EPOCHS) FOLDFS_TEST_BIG=1 sh tests/unit/run.sh $(soaked)
	@$(MAKE) check-unit
	+@$(call sanitized,address$(comma)undefined) check-unit unsanitized=
	@$(MAKE) check-mount MARKED='slow or not plain'
	@$(MAKE) soak-readers
	+@$(call sanitized,thread) soak-readers
	+@$(call sanitized,address$(comma)undefined) soak-readers
	@SOAK_VALGRIND=1 $(MAKE) soak-readers

# Readers of all kinds at once, for SOAK_MINUTES with each build: tests/mount/test_soak.py.
SOAK_MINUTES ?= 60
soak-readers: all
	$(Q)FOLDFS_BUILD=$(abspath $(B)) SOAK_MINUTES=$(SOAK_MINUTES) $(PYTEST) -s \
		tests/mount/test_soak.py

# What has no threads need not be looked at for races. What computes for long comes first.
threaded := $(addprefix $(B)/unit/test_,ahead batch_ahead batch_scan cache coprocess \
		   far fill histogram inval journal listing open oracle_thread pages parallel_for \
		   pipeline prefix pressure reader_blocks reader_file reader_remote s3 scan skeleton work \
		   workers)
# With the plain build in `make check`, beside those with ThreadSanitizer, and others with
# AddressSanitizer: what only computes, for long, going on with packs, which the mount tests look at
# with the tool itself, and a limit of memory. `make soak` has all with both.
unsanitized := $(addprefix $(B)/unit/test_,io learner oracle permutation resume seeds)
# These begin none themselves: the journal has one behind their packs, and test_journal is looked at
# in their place; stall.c asks a cache, and s3.c a server, but not in their tests; unpack.c has
# interrupt.c's, which waits for signals.
packers  := $(addprefix $(B)/unit/test_,alias builder classes damage dataset delta \
		   entry_table index lists merge resolve resume s3_url stall unpack unpack_programs)
checked  := $(if $(filter thread,$(SANITIZE)),$(threaded),$(filter-out \
	$(if $(SANITIZE),$(unsanitized)),$(units)))
long     := $(addprefix $(B)/unit/test_,oracle cache ahead reader_remote streams guess \
		   oracle_ranks reader_blocks dataset builder seeds resume alias fill)
beside   :=
check-unit: $(checked) $(if $(SANITIZE),$(B)/canary)
	$(Q)$(if $(SANITIZE),sh tests/unit/canary.sh $(B)/canary $(SANITIZE))
	$(Q)sh tests/unit/run.sh $(beside) $(foreach u,$(long),$(filter $u,$(checked))) \
		$(filter-out $(long),$(checked))
	$(Q)$(if $(filter thread,$(SANITIZE)),,sh tests/unit/threads.sh \
		"$(threaded) $(packers)" $(checked))

$(B)/canary: $(B)/tests/unit/canary.o
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -lpthread

# Side by side, three to a processor since many wait; then what needs the machine for itself. Each
# process reads all FILES, which takes seconds: those without the mark are left out.
PYTEST = $(PYTHON) -B -m pytest -q -p no:cacheprovider
MARKED = not slow
FILES = $(wildcard tests/mount/test_*.py)
marked = $(shell grep -l 'mark\.$(1)' $(FILES))
tested = $(Q)FOLDFS_BUILD=$(abspath $(B)) PYTHON=$(PYTHON) TESTS='$(TESTS)' sh tests/mount/run.sh \
	-m '$(1) and ($(MARKED))' $(2) $(TESTS)
check-mount: all $(refused)
	$(call tested,not alone,-n $$(($$(nproc) * 3)) $(FILES))
	$(call tested,alone,$(call marked,alone))

# With what users run today, in an environment outside this tree: some GB to download.
check-clients:
	$(call deps,check)
	@$(MAKE) run-check-clients

run-check-clients: all
	$(Q)FOLDFS_BUILD=$(abspath $(B)) sh tests/clients/run.sh $(TESTS)

# How other compilers see what is compiled.
compiled = -std=gnu17 $(WARN) $(CPPFLAGS) $(FUSE_CFLAGS)

lint: all
	$(Q)sh tests/lint/run.sh $(B) $(compiled)

# What no compiler sees, over all of the program: minutes.
analyze:
	$(call deps,analyze)
	@$(MAKE) run-analyze

run-analyze:
	$(Q)sh tests/lint/analyze.sh $(compiled)

# Every module, by the first sentence of its header.
map:
	@$(PYTHON) -B tests/lint/map.py -v

demo:
	$(call deps,demo)
	@$(MAKE) run-demo

run-demo: all
	$(Q)BUILD=$(B) PYTHON=$(PYTHON) $(PYTHON) -B tests/demo/demo.py "$(DATA)"

bench:
	$(call deps,bench)
	@$(MAKE) run-bench

run-bench: all $(bench_programs)
	$(Q)PYTHON=$(PYTHON) $(PYTHON) -B tests/bench/bench.py --build $(B) \
		--report bench-report $(SECTIONS)

# Of README and doc/measured.md, of doc/results.csv, into which REPORT=bench-report/report.csv goes.
figures:
	$(Q)$(PYTHON) -B tests/bench/figures.py $(REPORT)

pictures: all
	$(Q)BUILD=$(B) PYTHON=$(PYTHON) $(PYTHON) -B tests/demo/pictures.py

# Twelve folders and devices, and what foldfs-doctor says of each: as root, nothing beside it.
check-doctor: $(B)/bench/netfs $(B)/foldfs
	$(Q)$(PYTHON) -B tests/bench/check_doctor.py --build $(B)

# One target for each parser, for FUZZ_SECONDS or FUZZ_RUNS each: tests/fuzz/run.py. A find becomes
# a named test.
FUZZ_SECONDS ?= 60
# Coverage for llvm-cov. NULL + 0, where an empty buffer ends, is no fault (C2y), and clang cannot
# tell it from pointers that wrap.
FUZZ_CFLAGS := -fprofile-instr-generate -fcoverage-mapping -fno-sanitize=pointer-overflow
fuzz_src := $(wildcard tests/fuzz/*.c)
fuzzers  := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(filter tests/fuzz/fuzz_%,$(fuzz_src)))
fuzz:
	+@$(MAKE) $(jobs) CC=clang SANITIZE=fuzzer-no-link,address,undefined B=build-fuzz run-fuzz

run-fuzz: $(fuzzers) $(B)/foldpack $(scripts)
	$(Q)$(PYTHON) -B tests/fuzz/seeds.py $(B)/foldpack $(B)/fuzz/seeds
	$(Q)$(PYTHON) -B tests/fuzz/run.py $(FUZZ_RUNS:%=--runs=%) $(B) $(FUZZ_SECONDS) \
		$(TARGETS)

$(B)/tests/fuzz/fuzz_requests.o: override CPPFLAGS += $(FUSE_CFLAGS)
$(B)/fuzz/fuzz_requests: LIBS = $(FUSE_LIBS)
$(B)/fuzz/fuzz_requests: $(call objects,$(filter-out \
    %/main.c %/session.c %/version.c fs/nofuse/%,$(fs_src)))
$(B)/fuzz/fuzz_options: $(call objects,fs/options.c)
$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(call objects,$(filter-out tests/fuzz/fuzz_%,$(fuzz_src))) $(libs)
	$(call say,LINK,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ \
		$(filter %.o,$^) $(filter %.a,$^) $(tool_libs) $(LIBS)

# --- install ----------------------------------------------------------------------------------
prefix  := $(DESTDIR)$(PREFIX)
bindir  := $(prefix)/bin
sharedir := $(prefix)/share/foldfs
preloaddir := $(prefix)/lib/foldfs
mandir  := $(prefix)/share/man
docdir  := $(prefix)/share/doc/foldfs
unitdir := $(prefix)/lib/systemd/system
bashdir := $(prefix)/share/bash-completion/completions
zshdir  := $(prefix)/share/zsh/site-functions
fishdir := $(prefix)/share/fish/vendor_completions.d
names   := $(notdir $(programs))
# Below PREFIX, where PYTHON looks for modules; site-packages, if it looks nowhere there. Nothing
# without a Python.
find_modules = import sys; prefix = (sys.argv[1:] or [""])[0]; print(next((path for path in \
	sys.path if path.startswith(prefix + "/lib/python3") and path.endswith("-packages")), \
	prefix + "/lib/python%d.%d/site-packages" % sys.version_info[:2]))
moduledir = $(eval moduledir := $(addprefix $(DESTDIR),$(shell $(PYTHON) -c '$(find_modules)' \
	$(PREFIX))))$(moduledir)
doctor := $(bindir)/foldfs-doctor

# For 'pip install', anywhere: the programs are static.
.PHONY: wheel
wheel: static
	+@$(MAKE) STATIC=1 all build-static/licenses
	$(Q)$(PYTHON) -B python/wheel.py $(VERSION) build-static dist

.PHONY: install uninstall clean
install: all $(licenses)
	install -D -t $(bindir) $(programs)
	for s in $(scripts:$(B)/%=%); do install -D -m 644 $(B)/$$s $(sharedir)/$$s; done
	$(if $(DESTDIR),,$(call compile,$(sharedir)/sources))
	install -D -m 644 -t $(preloaddir) $(preload)
	$(if $(moduledir),install -D -m 644 -t $(moduledir)/foldfs python/foldfs/*.py \
		python/foldfs/py.typed)
	$(if $(moduledir),printf '%s\n' '#!$(PYTHON)' 'import sys' \
		'sys.path.append("$(moduledir:$(DESTDIR)%=%)")' 'from foldfs.doctor import main' \
		'sys.exit(main())' >$(doctor) && chmod 755 $(doctor))
	for n in 1 5 7; do install -D -m 644 -t $(mandir)/man$$n man/*.$$n; done
	install -D -m 644 -t $(docdir) README.md NEWS LICENSE
	$(if $(licenses),install -D -m 644 -t $(docdir)/licenses $(licenses)/*)
	for f in $$(find doc -type f ! -name results.csv); do \
		install -D -m 644 $$f $(docdir)/$${f#doc/}; done
	install -D -m 644 -t $(unitdir) packaging/systemd/*.service
	install -D -m 644 $(B)/completion/foldfs.bash $(bashdir)/foldfs
	install -D -m 644 $(B)/completion/foldfs.fish $(fishdir)/foldfs.fish
	install -D -m 644 $(B)/completion/foldfs.zsh $(zshdir)/_foldfs
	for n in foldpack foldstat; do ln -sf foldfs $(bashdir)/$$n; done
	for n in foldpack foldstat; do ln -sf foldfs.fish $(fishdir)/$$n.fish; done

uninstall:
	rm -f $(addprefix $(bindir)/,$(names)) $(zshdir)/_foldfs \
		$(addprefix $(bashdir)/,$(names)) $(names:%=$(fishdir)/%.fish) \
		$(patsubst packaging/systemd/%,$(unitdir)/%,$(wildcard packaging/systemd/*.service)) \
		$(foreach n,1 5 7,$(patsubst man/%,$(mandir)/man$(n)/%,$(wildcard man/*.$(n))))
	rm -f $(doctor)
	rm -rf $(docdir) $(sharedir) $(preloaddir) $(addsuffix /foldfs,$(moduledir))

include packaging/packages.mk

clean:
	rm -rf build build-* dist

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile
	@echo "goals: all static wheel check soak check-static check-wheel check-clients check-doctor"
	@echo "       check-bullseye check-focal check-old (both) check-aarch64 check-kernel check-nfs"
	@echo "       check-cluster check-containers"
	@echo "       demo pictures bench figures lint analyze map fuzz"
	@echo "       install uninstall dist deb rpm reproducible clean"
	@echo "       check-unit, check-mount [TESTS='-k NAME']"
	@echo "       soak [EPOCHS=N] [SOAK_MINUTES=N], soak-readers [SOAK_MINUTES=N]"
	@echo "       fuzz [FUZZ_SECONDS=N] [FUZZ_RUNS=N] [TARGETS='NAME NAME']"

-include $(shell [ -d $(B) ] && find $(B) -name '*.d')
.SECONDARY:
