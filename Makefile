# nccltune: one non-recursive Makefile. `make help` lists the targets.
#
# Objects live in build/, or build/VARIANT for another compiler setting (VARIANT=san: clang with ASan and UBSan).

VERSION     := 0.1.0
PREFIX      ?= /usr/local
BINDIR      ?= $(PREFIX)/bin
LIBDIR      ?= $(PREFIX)/lib
LIBEXECDIR  ?= $(PREFIX)/libexec/nccltune
MANDIR      ?= $(PREFIX)/share/man
DOCDIR      ?= $(PREFIX)/share/doc/nccltune
COMPDIR     ?= $(PREFIX)/share/bash-completion/completions
DESTDIR     ?=

CC          ?= cc
CFLAGS      ?= -O2 -g
WARN        := -Wall -Wextra -Wshadow -Wvla -Wno-missing-field-initializers
VARIANT     ?=
, := ,
B           := build$(if $(VARIANT),/$(VARIANT))
ifeq ($(VARIANT),san)
CC          := clang
# The fuzzers are built from the same objects, hence the coverage instrumentation.
CFLAGS      := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined
endif
# Sanitizers leave their runtime's symbols to the program that loads a shared object.
NO_UNDEFINED := $(if $(VARIANT),,-Wl$(,)-z$(,)defs)
V           ?= 0
Q           := $(if $(filter 1,$(V)),,@)
say          = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

# Asked only when something is built, so that `make help` and `make deps` work on a bare machine.
pkg          = $(shell pkg-config $(1))
DEP_CFLAGS   = $(eval DEP_CFLAGS := $(call pkg,--cflags hwloc libibverbs libcjson expat yaml-0.1))$(DEP_CFLAGS)
DEP_LIBS     = $(eval DEP_LIBS := $(call pkg,--libs hwloc libibverbs libcjson expat yaml-0.1) -ldl -lm -lpthread)$(DEP_LIBS)
MPI_CFLAGS   = $(eval MPI_CFLAGS := $(call pkg,--cflags ompi-c))$(MPI_CFLAGS)
MPI_LIBS     = $(eval MPI_LIBS := $(call pkg,--libs ompi-c))$(MPI_LIBS)
BASE_CFLAGS := -std=gnu11 -D_GNU_SOURCE -I. -DNCCLTUNE_VERSION='"$(VERSION)"' $(WARN)
WHERE       := -DNCCLTUNE_LIBEXECDIR='"$(LIBEXECDIR)"' -DNCCLTUNE_LIBDIR='"$(LIBDIR)"'

# Sources by directory. Programs of their own stay out of the library: bench/nccltune-bench/ needs MPI,
# bench/nccltune-worker/ is the worker that runs NCCL (libc only), tuner/plugin/ is the plugin.
tree         = $(sort $(shell find $(1) -name '*.c'))
TUNER_SRC   := $(call tree,tuner/table tuner/capture)
PLUGIN_SRC  := $(call tree,tuner) core/coll.c core/sha256.c
BENCH_SRC   := $(call tree,bench/nccltune-bench)
WORKER_SRC  := $(call tree,bench/nccltune-worker) bench/launch/worker_protocol.c bench/launch/gpu_driver.c core/coll.c
CLI_SRC     := $(call tree,cli)
HOOK_PARTS  := $(filter-out slurm/hook_main.c,$(call tree,slurm))
HOOK_SRC    := slurm/hook_main.c $(HOOK_PARTS) core/vars/catalogue.c \
               $(addprefix core/,arena.c edit_distance.c err.c file.c hostlist.c sha256.c)
LIB_SRC     := $(filter-out $(BENCH_SRC) $(WORKER_SRC),$(call tree,core probe bench envgen)) $(TUNER_SRC) $(HOOK_PARTS) \
               bench/launch/worker_protocol.c bench/launch/gpu_driver.c core/coll.c

obj          = $(patsubst %.c,$(B)/$(1)/%.o,$(2))
LIB_OBJ     := $(call obj,obj,$(LIB_SRC))
CLI_OBJ     := $(call obj,obj,$(CLI_SRC))
BENCH_OBJ   := $(call obj,mpi,$(BENCH_SRC))
PLUGIN_OBJ  := $(call obj,pic,$(PLUGIN_SRC))
WORKER_OBJ  := $(call obj,obj,$(WORKER_SRC))
HOOK_SCRIPTS := slurm/task_prolog slurm/prolog slurm/epilog
HOOK_OBJ    := $(call obj,obj,$(HOOK_SRC))

LIB         := $(B)/libnccltune.a
PLUGIN      := $(B)/libnccl-tuner-nccltune.so
PLUGIN_LINKS := libnccl-env-nccltune.so libnccl-profiler-nccltune.so
PROGRAMS    := $(B)/nccltune $(B)/nccltune-bench $(B)/nccltune-worker $(B)/nccltune-hook $(PLUGIN)

UNIT_SRC    := $(sort $(shell find tests/unit -name 'test_*.c'))
UNITS       := $(patsubst tests/%.c,$(B)/tests/%,$(UNIT_SRC))
SUPPORT_OBJ := $(call obj,obj,$(wildcard tests/lib/*.c))
DOUBLE_SRC  := $(filter-out $(wildcard tests/doubles/nccl_*.c),$(wildcard tests/doubles/*.c))
DOUBLES     := $(patsubst tests/doubles/%.c,$(B)/tests/doubles/%.so,$(DOUBLE_SRC))
NCCL_DOUBLE_SRC := $(filter-out %/nccl_driver.c,$(wildcard tests/doubles/nccl_*.c)) core/coll.c
NCCL_DOUBLES := $(addprefix $(B)/tests/doubles/lib/,libnccl.so.2 librccl.so.1 libcuda.so.1 libamdhip64.so)
FUZZ_SRC    := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS     := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
PERF_SRC    := $(wildcard tests/perf/perf_*.c)
PERFS       := $(patsubst tests/perf/%.c,$(B)/perf/%,$(PERF_SRC))
TIMER       := $(B)/tests/allreduce-time

.PHONY: all run check check-gpu units bench-perf fuzz fuzzers lint format deps install uninstall dist deb clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS)

# ---- building -------------------------------------------------------------------------------------------------------

$(B)/obj/%.o: %.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) $(WHERE) $(DEP_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/mpi/%.o: %.c
	$(call say,MPICC,$<)mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) $(MPI_CFLAGS) $(DEP_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
# The plugin loads into programs that nobody here chose: no stack protector tricks, nothing but libc, nothing exported
# that the version script does not name.
$(B)/pic/%.o: %.c
	$(call say,CC,$< (plugin))mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -U_FORTIFY_SOURCE -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(LIB): $(LIB_OBJ)
	$(call say,AR,$@)rm -f $@ && $(AR) qcs $@ $^
$(B)/nccltune: $(CLI_OBJ) $(LIB)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CLI_OBJ) $(LIB) $(DEP_LIBS)
$(B)/nccltune-bench: $(BENCH_OBJ) $(LIB)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(BENCH_OBJ) $(LIB) $(MPI_LIBS) $(DEP_LIBS)
$(B)/nccltune-worker: $(WORKER_OBJ)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(WORKER_OBJ) -ldl -lpthread
$(B)/nccltune-hook: $(HOOK_OBJ)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,-z,now,-z,relro -o $@ $(HOOK_OBJ)
# Without a soname: ldconfig would list the file under that name alone, and NCCL look for its links in vain.
$(PLUGIN): $(PLUGIN_OBJ) tuner/plugin/plugin.map
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -shared $(NO_UNDEFINED) -Wl,-z,now,-z,relro -Wl,--version-script=tuner/plugin/plugin.map -o $@ $(PLUGIN_OBJ)

# ---- tests ----------------------------------------------------------------------------------------------------------

$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(SUPPORT_OBJ) $(LIB)
	$(call say,LD,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(SUPPORT_OBJ) $(LIB) $(DEP_LIBS) -lcmocka
$(B)/tests/doubles/%.so: tests/doubles/%.c
	$(call say,LD,$@)mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ $<
$(B)/tests/doubles/lib/libnccl.so.2 $(B)/tests/doubles/lib/librccl.so.1: $(NCCL_DOUBLE_SRC) $(wildcard tests/doubles/nccl_*.h) tests/lib/profiler_double.h
	$(call say,LD,$@)mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) -O2 -g -shared -fPIC -Wl,-soname,$(@F) -o $@ $(NCCL_DOUBLE_SRC) -ldl -lm
$(B)/tests/doubles/lib/libcuda.so.1 $(B)/tests/doubles/lib/libamdhip64.so: tests/doubles/nccl_driver.c tests/doubles/nccl_driver.h
	$(call say,LD,$@)mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) -O2 -g -shared -fPIC -Wl,-soname,$(@F) -o $@ $<
$(TIMER): tests/tools/allreduce_time.c
	$(call say,MPICC,$@)mkdir -p $(@D) && $(CC) $(BASE_CFLAGS) $(MPI_CFLAGS) $(CFLAGS) -o $@ $< $(MPI_LIBS)
$(B)/perf/%: $(B)/obj/tests/perf/%.o $(LIB)
	$(call say,LD,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(DEP_LIBS)
$(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(LIB)
	$(call say,LD,$@)mkdir -p $(@D) && $(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $< $(LIB) $(DEP_LIBS)

units: $(UNITS) $(DOUBLES) $(NCCL_DOUBLES) $(TIMER)

check:
	$(Q)tools/deps check
	$(Q)tests/check
check-gpu: all
	$(Q)tests/check-gpu
fuzzers: $(FUZZERS)
fuzz:
	$(Q)tests/fuzz/run $(or $(FUZZ_SECONDS),60)
lint:
	$(Q)tests/lint
bench-perf: all $(PERFS)
	$(Q)tests/perf/run
format:
	$(Q)git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

# ---- using ----------------------------------------------------------------------------------------------------------

deps:
	$(Q)tools/deps check
run:
	$(Q)tools/deps build
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)tools/run $(B)/nccltune

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(LIBDIR) $(DESTDIR)$(COMPDIR) $(DESTDIR)$(DOCDIR)/slurm
	install -d $(addprefix $(DESTDIR)$(MANDIR)/man,1 5 7 8)
	install -m 755 $(B)/nccltune $(DESTDIR)$(BINDIR)/
	install -m 755 $(B)/nccltune-bench $(B)/nccltune-worker $(B)/nccltune-hook $(HOOK_SCRIPTS) $(DESTDIR)$(LIBEXECDIR)/
	install -m 644 slurm/nccltune.sbatch $(wildcard slurm/examples/*) $(DESTDIR)$(DOCDIR)/slurm/
	install -m 644 $(PLUGIN) $(DESTDIR)$(LIBDIR)/
	for l in $(PLUGIN_LINKS); do ln -sf $(notdir $(PLUGIN)) $(DESTDIR)$(LIBDIR)/$$l; done
	for s in 1 5 7 8; do install -m 644 man/*.$$s $(DESTDIR)$(MANDIR)/man$$s/; done
	install -m 644 cli/nccltune.bash-completion $(DESTDIR)$(COMPDIR)/nccltune
uninstall:
	rm -f $(DESTDIR)$(BINDIR)/nccltune $(addprefix $(DESTDIR)$(LIBEXECDIR)/,nccltune-bench nccltune-worker nccltune-hook $(notdir $(HOOK_SCRIPTS)))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(PLUGIN)) $(PLUGIN_LINKS)) $(DESTDIR)$(COMPDIR)/nccltune
	rm -f $(foreach s,1 5 7 8,$(addprefix $(DESTDIR)$(MANDIR)/man$(s)/,$(notdir $(wildcard man/*.$(s)))))
	rm -rf $(DESTDIR)$(DOCDIR)/slurm
	-rmdir $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DOCDIR) 2>/dev/null
# Both build in a folder of their own, because programs know where they are installed.
dist:
	$(Q)tools/dist $(VERSION)
deb:
	$(Q)tools/deb $(VERSION)
clean:
	rm -rf build

help:
	@echo 'all         build the programs into build/ (needs the packages that `make deps` installs)'
	@echo 'run         install what is missing, build, tune this machine into build/profile; without GPUs, predict one that has'
	@echo 'check       install what is missing, run every test; last line: N passed, N failed'
	@echo 'check-gpu   the checks that need a GPU; says plainly when there is none'
	@echo 'bench-perf  timings, next to a named peer or floor in the same run'
	@echo 'fuzz        fuzz every reader (FUZZ_SECONDS=60 each)'
	@echo 'lint        formatting, compiler warnings as errors (gcc, clang), clang-tidy, cppcheck, shellcheck'
	@echo 'deps        install missing Debian/Ubuntu packages (root or sudo)'
	@echo 'install     PREFIX=/usr/local DESTDIR=; uninstall takes the same'
	@echo 'dist        a tarball that runs from any directory, in build/'
	@echo 'deb         a Debian package, in build/'
	@echo 'clean       remove build/'

-include $(shell find build -name '*.d' 2>/dev/null)
