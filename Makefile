# nccltune: one non-recursive Makefile. `make help` lists the targets.
#
# Objects live in build/, or build/VARIANT for another compiler setting (VARIANT=san: clang with ASan and UBSan; fuzz: the same,
# with comparisons traced for the fuzzers; tsan: with its thread sanitizer).

.DEFAULT_GOAL := all

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
CFLAGS      ?= -O2 -g -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
LDFLAGS     ?= -Wl,-z,relro,-z,now
WARN        := -Wall -Wextra -Wshadow -Wvla -Wno-missing-field-initializers
VARIANT     ?=
B           := build$(if $(VARIANT),/$(VARIANT))
ifneq (,$(filter san fuzz,$(VARIANT)))
CC          := clang
# make check has one build for tests and fuzzers, hence the coverage instrumentation. Traced comparisons are for long fuzzing:
# tests take two to three times as long with them.
CFLAGS      := -O1 -gline-tables-only -fno-omit-frame-pointer \
               -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined
CFLAGS      += $(if $(filter san,$(VARIANT)),-fno-sanitize-coverage=trace-cmp)
else ifeq ($(VARIANT),tsan)
CC          := clang
CFLAGS      := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
else
# Sanitizers leave their runtime's symbols to the program that loads a shared object.
NO_UNDEFINED := -Wl,-z,defs
endif
HARDENED    := -Wl,-z,now,-z,relro
V           ?= 0
Q           := $(if $(filter 1,$(V)),,@)
comma       := ,
say          = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

# Asked only when something is built, so that `make help` and `make deps` work on a bare machine.
DEPS        := hwloc libibverbs libcjson expat yaml-0.1
pkg          = $(shell pkg-config $(1))
DEP_CFLAGS   = $(eval DEP_CFLAGS := $(call pkg,--cflags $(DEPS)))$(DEP_CFLAGS)
DEP_LIBS     = $(eval DEP_LIBS := $(call pkg,--libs $(DEPS)) -ldl -lm -lpthread)$(DEP_LIBS)
MPI_CFLAGS   = $(eval MPI_CFLAGS := $(call pkg,--cflags ompi-c))$(MPI_CFLAGS)
MPI_LIBS     = $(eval MPI_LIBS := $(call pkg,--libs ompi-c))$(MPI_LIBS)

# Sources by directory. Programs of their own stay out of the library: bench/nccltune-bench/ needs MPI,
# bench/nccltune-worker/ is the worker that runs NCCL (libc only), tuner/plugin/ is the tuner plugin.
tree         = $(sort $(shell find $(1) -name '*.c'))
TUNER_SRC   := $(call tree,tuner/table tuner/libc tuner/capture tuner/observe)
PLUGIN_SRC  := $(filter-out %/binary_write.c,$(call tree,tuner/plugin tuner/table)) tuner/libc/elf.c tuner/libc/read.c core/coll.c core/hash.c \
               core/vars/deliver.c
PROFILER_SRC := $(call tree,tuner/capture tuner/observe tuner/libc) core/coll.c core/launcher.c
BENCH_SRC   := $(call tree,bench/nccltune-bench)
WORKER_PARTS    := core/call/shape.c $(addprefix core/wire/,connection.c proof.c tcp.c) bench/noise/signs.c \
                   probe/source/condition.c probe/topology/pci.c probe/topology/sysfs.c $(addprefix core/,arena.c coll.c delivered.c err.c file.c gpu_driver.c hash.c launcher.c locate.c nccl_library.c trust.c units.c)
WORKER_SRC  := $(call tree,bench/nccltune-worker) $(WORKER_PARTS)
CLI_SRC     := $(call tree,cli)
HOOK_PARTS  := $(filter-out slurm/hook_main.c,$(call tree,slurm))
HOOK_SRC    := slurm/hook_main.c $(HOOK_PARTS) core/vars/deliver.c \
               $(addprefix core/,arena.c err.c file.c hash.c hostlist.c locate.c trust.c)
LIB_SRC     := $(filter-out $(BENCH_SRC) $(WORKER_SRC),$(call tree,core probe model lint bench envgen advise)) \
               $(TUNER_SRC) $(HOOK_PARTS) $(WORKER_PARTS)

obj          = $(patsubst %.c,$(B)/$(1)/%.o,$(2))
LIB_OBJ     := $(call obj,obj,$(LIB_SRC))
CLI_OBJ     := $(call obj,obj,$(CLI_SRC))
BENCH_OBJ   := $(call obj,mpi,$(BENCH_SRC))
PLUGIN_OBJ  := $(call obj,pic,$(PLUGIN_SRC))
PROFILER_OBJ := $(call obj,pic,$(PROFILER_SRC))
WORKER_OBJ  := $(call obj,obj,$(WORKER_SRC))
HOOK_SCRIPTS := slurm/task_prolog slurm/prolog slurm/epilog
HOOK_OBJ    := $(call obj,obj,$(HOOK_SRC))

# What every page of HTML carries, as strings.
$(B)/gen/page.c: envgen/report/page.css envgen/report/page.js
	$(call say,GEN,$@)mkdir -p $(@D) && for f in $^; do printf 'extern const char page_%s[];\nconst char page_%s[] =\n' $${f##*.} $${f##*.}; \
	    sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo ';'; done > $@
LIB_OBJ     += $(B)/obj/gen/page.o

LIB         := $(B)/libnccltune.a
PLUGIN      := $(B)/libnccl-tuner-nccltune.so
ENV_LINK    := libnccl-env-nccltune.so
PROFILER    := $(B)/libnccl-profiler-nccltune.so
PAGES       := $(addprefix $(B)/,$(wildcard man/*.[1578]))
PROGRAMS    := $(B)/nccltune $(B)/nccltune-bench $(B)/nccltune-worker $(B)/nccltune-hook $(PLUGIN) $(PROFILER)

UNIT_SRC    := $(sort $(shell find tests/unit -name 'test_*.c'))
UNITS       := $(patsubst tests/%.c,$(B)/tests/%,$(UNIT_SRC))
UNIT_ALONE  := $(patsubst tests/%.c,$(B)/tests/%,$(shell grep -rl --include='test_*.c' '^int main\b\|^TEST_[A-Z_]*.main\b' tests/unit))
UNIT_GROUPS := $(filter-out $(UNIT_ALONE),$(UNITS))
UNIT_DIRS   := $(patsubst $(B)/%/,%,$(sort $(dir $(UNIT_GROUPS))))
UNIT_PROGRAMS := $(UNIT_ALONE) $(UNIT_DIRS:%=$(B)/%/tests)
SUPPORT_OBJ := $(call obj,obj,$(wildcard tests/lib/*.c))
DOUBLE_SRC  := $(filter-out $(wildcard tests/doubles/nccl_*.c),$(wildcard tests/doubles/*.c))
DOUBLES     := $(patsubst tests/doubles/%.c,$(B)/tests/doubles/%.so,$(DOUBLE_SRC))
VENDOR_TUNERS := $(patsubst %,$(B)/tests/doubles/vendor_tuner_v%.so,1 2 3 4 5 6 7)
GPU_DOUBLE_SRC := tests/doubles/nccl_gpu.c tests/doubles/nccl_law.c core/coll.c
NCCL_DOUBLE_SRC := $(filter-out %/nccl_driver.c %/nccl_hip.c %/nccl_gpu.c,$(wildcard tests/doubles/nccl_*.c)) core/coll.c
NCCL_DOUBLES := $(addprefix $(B)/tests/doubles/lib/,libnccl.so.2 librccl.so.1 libcuda.so.1 libamdhip64.so)
FUZZ_SRC    := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS     := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
PERF_SRC    := $(wildcard tests/perf/perf_*.c)
PERFS       := $(patsubst tests/perf/%.c,$(B)/perf/%,$(PERF_SRC))
TIMER       := $(B)/tests/coll-times

.PHONY: all run check check-quick check-corpus check-long check-gpu units bench-perf fuzz fuzzers mutants lint format deps install \
        uninstall dist deb image clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) $(PAGES)

# ---- building -------------------------------------------------------------------------------------------------------

# One kind of object a purpose: programs and tests, what needs MPI, the plugins, test doubles. The plugins load into
# programs that nobody here chose: no stack protector tricks, nothing but libc, nothing exported that the version script
# does not name. Doubles load into programs with and without sanitizers, so they have none.
BASE         = $(CC) -std=gnu11 -D_GNU_SOURCE -I. $(WARN)
obj_flags    = $(BASE) $(DEP_CFLAGS) $(CPPFLAGS) $(CFLAGS) -fPIE
mpi_flags    = $(BASE) $(MPI_CFLAGS) $(DEP_CFLAGS) $(CPPFLAGS) $(CFLAGS) -fPIE
pic_flags    = $(BASE) $(CPPFLAGS) $(CFLAGS) -Wp,-U_FORTIFY_SOURCE -fno-stack-protector -fPIC -fvisibility=hidden
double_flags = $(BASE) -O2 -g -fPIC
version_flags = -DNCCLTUNE_VERSION='"$(VERSION)"'
prefix_flags = -DNCCLTUNE_PREFIX='"$(PREFIX)"' -DNCCLTUNE_BINDIR='"$(BINDIR)"' -DNCCLTUNE_LIBDIR='"$(LIBDIR)"' \
               -DNCCLTUNE_LIBEXECDIR='"$(LIBEXECDIR)"'
lib_flags    = $(LIB_OBJ)
ld_flags     = $(CC) $(CFLAGS) $(LDFLAGS) $(MPI_LIBS) $(DEP_LIBS) \
               $(CLI_OBJ) $(BENCH_OBJ) $(WORKER_OBJ) $(HOOK_OBJ) $(PLUGIN_OBJ) $(PROFILER_OBJ)

# What each of these was the last time: the file changes when the flags do, and what depends on it is built anew. Other
# makes may look at the same moment.
NEW         := new$(shell echo $$PPID)
$(B)/flags/%: FORCE
	+@$(shell mkdir -p $(@D))$(file >$@.$(NEW),$($*_flags))cmp -s $@.$(NEW) $@ && rm $@.$(NEW) || mv $@.$(NEW) $@

# Version and prefix reach only the objects whose source names them.
grep         = $(shell grep -rl --include='*.c' $(1) core probe model lint bench tuner envgen advise cli slurm)
naming       = $(foreach kind,obj mpi pic,$(call obj,$(kind),$(call grep,$(1))))
VERSION_OBJ := $(call naming,NCCLTUNE_VERSION)
PREFIX_OBJ  := $(call naming,'NCCLTUNE_LIB\(EXEC\)\?DIR')
$(VERSION_OBJ): $(B)/flags/version
$(VERSION_OBJ): private NAMED += $(version_flags)
$(PREFIX_OBJ): $(B)/flags/prefix
$(PREFIX_OBJ): private NAMED += $(prefix_flags)

# Paths in debugging information are those in the tree, wherever that lies.
compile      = $(call say,$(1),$<)mkdir -p $(@D) && $(2) $(NAMED) '-ffile-prefix-map=$(CURDIR)=.' -MMD -MP -c -o $@ $<
$(B)/obj/%.o: %.c Makefile $(B)/flags/obj
	$(call compile,CC,$(obj_flags))
$(B)/obj/gen/%.o: $(B)/gen/%.c Makefile $(B)/flags/obj
	$(call compile,CC,$(obj_flags))
$(B)/mpi/%.o: %.c Makefile $(B)/flags/mpi
	$(call compile,MPICC,$(mpi_flags))
# What runs once a process is small, what runs at every call is fast.
$(filter-out %/plugin.o %/index.o,$(PLUGIN_OBJ)): private override CFLAGS += -Os
$(B)/pic/%.o: %.c Makefile $(B)/flags/pic
	$(call compile,PIC,$(pic_flags))
$(B)/double/%.o: %.c Makefile $(B)/flags/double
	$(call compile,DOUBLE,$(double_flags))

# Appended member by member, because file names repeat: r would keep one of each.
$(LIB): $(LIB_OBJ) Makefile $(B)/flags/lib
	$(call say,AR,$@)rm -f $@ && $(AR) qcsD $@ $(LIB_OBJ)

link         = $(call say,LD,$@)mkdir -p $(@D) && $(CC) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(2)
$(PROGRAMS) $(UNIT_PROGRAMS) $(PERFS) $(FUZZERS) $(TIMER): Makefile $(B)/flags/ld
$(B)/nccltune: $(CLI_OBJ) $(LIB)
	$(call link,$(CFLAGS) $(LDFLAGS) -pie,$(DEP_LIBS))
$(B)/nccltune-bench: $(BENCH_OBJ) $(LIB)
	$(call link,$(CFLAGS) $(LDFLAGS) -pie,$(MPI_LIBS) $(DEP_LIBS))
$(B)/nccltune-worker: $(WORKER_OBJ)
	$(call link,$(CFLAGS) $(LDFLAGS) -pie,-ldl -lm -lpthread)
$(B)/nccltune-hook: $(HOOK_OBJ)
	$(call link,$(CFLAGS) $(LDFLAGS) -pie $(HARDENED))
# Without a soname: ldconfig would list the file under that name alone, and NCCL look for its link in vain.
$(PLUGIN): $(PLUGIN_OBJ) tuner/plugin/plugin.map
$(PROFILER): $(PROFILER_OBJ) tuner/capture/profiler.map
$(PLUGIN) $(PROFILER):
	$(call link,$(CFLAGS) $(LDFLAGS) -shared $(HARDENED) $(NO_UNDEFINED) -Wl$(comma)--version-script=$(filter %.map,$^))

# Pages say what only the program knows: its options, its rules.
$(B)/man/%: man/% tools/manual $(B)/nccltune
	$(call say,MAN,$@)mkdir -p $(@D) && tools/manual $< $(B)/nccltune >$@

# ---- tests ----------------------------------------------------------------------------------------------------------

# The unit tests of a directory are one program, `tests`. Each file test_X.c has a function test_X, which runs its group of
# tests; a link test_X to the program runs that group alone. A file with a main becomes a program of its own: it replaces
# functions of the library or starts itself with arguments.
define unit_directory # DIRECTORY GROUPS
$(1)/tests_flags := $(2)
$(B)/gen/$(1)/tests.c: Makefile $(B)/flags/$(1)/tests
	$$(call say,GEN,$$@)mkdir -p $$(@D) && { echo '#include "tests/unit/groups.h"' && printf 'int %s(void);\n' $(2) && \
	    echo 'const struct group groups[] = {' && for g in $(2); do echo "{\"$$$$g\", $$$$g},"; done && echo '{0}};'; } >$$@
$(B)/$(1)/tests: $(2:%=$(B)/obj/$(1)/%.o) $(B)/obj/gen/$(1)/tests.o $(B)/obj/tests/unit/groups.o $(SUPPORT_OBJ) $(LIB)
	$$(call link,$$(CFLAGS) $$(LDFLAGS),$$(DEP_LIBS) -lcmocka)
$(2:%=$(B)/$(1)/%): $(B)/$(1)/tests
	@ln -sf tests $$@
endef
groups_of    = $(notdir $(filter $(UNIT_GROUPS),$(patsubst %.c,$(B)/%,$(wildcard $(1)/test_*.c))))
$(foreach d,$(UNIT_DIRS),$(eval $(call unit_directory,$(d),$(call groups_of,$(d)))))
$(UNIT_ALONE): $(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(SUPPORT_OBJ) $(LIB)
	$(call link,$(CFLAGS) $(LDFLAGS),$(DEP_LIBS) -lcmocka)
# Not optimized, for half the time that it takes to compile them: few tests compute much.
$(B)/obj/tests/unit/%.o: private NAMED += -O0 -U_FORTIFY_SOURCE
# Over a double of MPI. The worker's own files are in no library.
$(B)/obj/tests/unit/bench/nccltune-bench/%.o: private NAMED += $(MPI_CFLAGS) $(version_flags)
WORKER_TESTED := $(call obj,obj,$(filter-out %/main.c,$(call tree,bench/nccltune-worker)))
$(filter $(B)/tests/unit/bench/nccltune-worker/%,$(UNIT_PROGRAMS)): $(WORKER_TESTED)
# In the place of libibverbs.
$(B)/tests/unit/bench/engines/verbs/test_conduct: $(B)/double/tests/doubles/fake_verbs.o
# Some distributions' libraries have the older table of symbols alone.
$(B)/tests/doubles/fake_nccl.so: TABLE = -Wl,--hash-style=sysv
$(DOUBLES): $(B)/tests/doubles/%.so: $(B)/double/tests/doubles/%.o
	$(call link,-shared $(TABLE))
# The vendor-like tuner with one version of the interface alone.
$(VENDOR_TUNERS): $(B)/tests/doubles/vendor_tuner_v%.so: $(B)/double/tests/doubles/vendor_tuner.o
	@mkdir -p $(@D) && echo '{global: ncclTunerPlugin_v$*; ncclNetPlugin_v8; vendor_tuner_seen; local: *;};' >$(@:.so=.map)
	$(call link,-shared -Wl$(comma)--version-script=$(@:.so=.map))
SONAME       = -Wl,-soname,$(@F)
$(NCCL_DOUBLES): Makefile $(B)/flags/double
	$(call link,-shared $(SONAME),-ldl -lm)
$(filter %/libnccl.so.2 %/librccl.so.1,$(NCCL_DOUBLES)): $(call obj,double,$(NCCL_DOUBLE_SRC))
$(filter %/libcuda.so.1,$(NCCL_DOUBLES)): $(call obj,double,tests/doubles/nccl_driver.c $(GPU_DOUBLE_SRC))
$(filter %/libamdhip64.so,$(NCCL_DOUBLES)): $(call obj,double,tests/doubles/nccl_hip.c $(GPU_DOUBLE_SRC))
$(TIMER): $(B)/mpi/tests/tools/coll_times.o
	$(call link,$(CFLAGS) $(LDFLAGS),$(MPI_LIBS))
$(B)/perf/%: $(B)/obj/tests/perf/%.o $(SUPPORT_OBJ) $(LIB)
	$(call link,$(CFLAGS) $(LDFLAGS),$(DEP_LIBS) -lcmocka)
# Their clock is simulated.
$(B)/perf/perf_nccl_search $(B)/tests/unit/bench/search/test_search_world \
$(addprefix $(B)/tests/unit/bench/search/test_,rails turns) $(B)/tests/unit/advise/whatif/test_known_jobs: \
    private override LDFLAGS += -Wl,--wrap=progress_now_s
$(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(LIB)
	$(call link,$(CFLAGS) -fsanitize=fuzzer,$(DEP_LIBS))

units: $(UNITS) $(DOUBLES) $(VENDOR_TUNERS) $(NCCL_DOUBLES) $(TIMER)

check:
	$(Q)tools/deps check
	$(Q)tests/check
check-quick:
	$(Q)tools/deps quick
	$(Q)tests/check build units quick
check-corpus:
	$(Q)tools/deps check
	$(Q)tests/check corpus
check-long: all $(DOUBLES)
	$(Q)tests/check-long
check-gpu: all
	$(Q)tests/check-gpu
fuzzers: $(FUZZERS)
fuzz:
	$(Q)VARIANT=fuzz tests/fuzz/run $(or $(FUZZ_SECONDS),60)
mutants: all units
	$(Q)tests/mutants
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

# Pages and examples name the paths of this installation.
HERE         = -e 's|/usr/local/libexec/nccltune|$(LIBEXECDIR)|; s|/usr/local/share/doc/nccltune|$(DOCDIR)|' \
               -e 's|/usr/local/lib/libnccl|$(LIBDIR)/libnccl|'
install: all
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBEXECDIR) $(LIBDIR) $(COMPDIR) $(DOCDIR)/slurm)
	install -d $(addprefix $(DESTDIR)$(MANDIR)/man,1 5 7 8)
	install -m 755 $(B)/nccltune $(DESTDIR)$(BINDIR)/
	install -m 755 $(B)/nccltune-bench $(B)/nccltune-worker $(B)/nccltune-hook $(HOOK_SCRIPTS) $(DESTDIR)$(LIBEXECDIR)/
	install -m 644 slurm/nccltune.sbatch $(wildcard slurm/examples/*) $(DESTDIR)$(DOCDIR)/slurm/
	cp -R examples $(DESTDIR)$(DOCDIR)/
	install -m 644 $(PLUGIN) $(PROFILER) $(DESTDIR)$(LIBDIR)/
	ln -sf $(notdir $(PLUGIN)) $(DESTDIR)$(LIBDIR)/$(ENV_LINK)
	for s in 1 5 7 8; do install -m 644 $(B)/man/*.$$s $(DESTDIR)$(MANDIR)/man$$s/; done
	sed -i $(HERE) $(addprefix $(DESTDIR)$(MANDIR)/,man1/nccltune.1 man8/nccltune-hook.8) $(DESTDIR)$(DOCDIR)/slurm/* \
		$(addprefix $(DESTDIR)$(DOCDIR)/examples/,health-check.sh train.sbatch)
	install -m 644 cli/nccltune.bash-completion $(DESTDIR)$(COMPDIR)/nccltune
uninstall:
	rm -f $(DESTDIR)$(BINDIR)/nccltune $(addprefix $(DESTDIR)$(LIBEXECDIR)/nccltune-,bench worker hook)
	rm -f $(addprefix $(DESTDIR)$(LIBEXECDIR)/,$(notdir $(HOOK_SCRIPTS)))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(PLUGIN) $(PROFILER)) $(ENV_LINK)) $(DESTDIR)$(COMPDIR)/nccltune
	rm -f $(foreach s,1 5 7 8,$(addprefix $(DESTDIR)$(MANDIR)/man$(s)/,$(notdir $(filter %.$(s),$(PAGES)))))
	rm -rf $(DESTDIR)$(DOCDIR)/slurm $(DESTDIR)$(DOCDIR)/examples
	-rmdir $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DOCDIR) 2>/dev/null
dist:
	$(Q)tools/dist source $(VERSION)
	$(Q)tools/dist binary $(VERSION)
deb:
	$(Q)tools/deb $(VERSION)
image:
	$(Q)tools/image $(VERSION)
clean:
	rm -rf build

help:
	@echo 'all           build the programs into build/ (needs the packages that `make deps` installs); CFLAGS etc. as usual'
	@echo 'run           install what is missing, build, tune this machine into build/profile; ends with what to do next'
	@echo 'check         every test: half an hour; installs 400 packages, Slurm among them, and enables no service'
	@echo 'check-quick   run the unit and end-to-end tests; installs no daemons, no compilers beyond gcc'
	@echo 'check-corpus  run only the tests that read recorded files of real machines, in NCCLTUNE_CORPUS (default ../shared/corpus)'
	@echo 'check-long    proofs that take too long for every change'
	@echo 'check-gpu     acceptance run on GPUs: half an hour, one report to send back; says plainly when there is none'
	@echo 'bench-perf    timings, next to a named peer or floor in the same run'
	@echo 'fuzz          fuzz every reader (FUZZ_SECONDS=60 each)'
	@echo 'mutants       mutation score: which small change to the code does no test notice (hours; see tests/mutants --help)'
	@echo 'lint          formatting, compiler warnings as errors (gcc, clang), clang-tidy, cppcheck, shellcheck'
	@echo 'deps          install missing Debian packages (root or sudo)'
	@echo 'install       PREFIX=/usr/local DESTDIR=; uninstall takes the same'
	@echo 'dist          in build/, a tarball of the source and one of the programs, which run from any directory'
	@echo 'deb           Debian packages, in build/'
	@echo 'image         a container image with them, by mmdebstrap: build/nccltune-image.tar'
	@echo 'clean         remove build/'

-include $(shell find $(addprefix $(B)/,obj mpi pic double) -name '*.d' 2>/dev/null)
