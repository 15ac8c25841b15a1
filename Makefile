# SPDX-License-Identifier: Apache-2.0
# The only entry. `make help` lists the targets; every script in ci/ runs the same by hand.

VARIANT ?= release
B := build/$(VARIANT)
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
ifeq ($(VARIANT),fuzz)
override CC := $(or $(FUZZ_CC),clang) # only clang brings the fuzzer
endif
PKG_CONFIG ?= pkg-config

# ---- Flags -----------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes \
            -Wmissing-prototypes -Wimplicit-fallthrough
STRICT := $(if $(or $(filter true,$(CI)),$(filter 1,$(WERROR))),-Werror)

OPT_release := -O2 -g
OPT_debug   := -Og -g3
OPT_o0      := -O0 -g
OPT_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan    := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
OPT_cov     := -O0 -g --coverage
OPT_planted := -O1 -g1 -DMEMKV_PLANTED
OPT_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
VARIANTS := release debug o0 asan tsan cov planted fuzz
ifeq ($(filter $(VARIANT),$(VARIANTS)),)
$(error unknown VARIANT '$(VARIANT)': use one of $(VARIANTS))
endif

# Without rdma-core (or with RDMA=no) fabric_hw/rdma is left out, and all that needs it.
RDMA ?= $(if $(shell $(PKG_CONFIG) --exists libibverbs libmlx5 2>/dev/null && echo yes),yes,no)
WITH_RDMA := $(filter yes,$(RDMA))
# Asked for, not for want of it.
WITHOUT_RDMA := $(if $(filter-out file default,$(origin RDMA)),$(filter no,$(RDMA)))

# Block tags at full speed on processors with VAES. Without libipsec-mb (or with IPSEC_MB=no) libcrypto
# computes the same bytes. Only x86 has the library; it brings nothing for pkg-config.
IPSEC_MB_ASKED := \#include <intel-ipsec-mb.h>\nint recent[IMB_VERSION_NUM >= IMB_VERSION(1, 3, 0) ? 1 : -1];
IPSEC_MB ?= $(if $(shell printf '$(IPSEC_MB_ASKED)\n' | $(CC) $(CFLAGS) -fsyntax-only -x c - 2>/dev/null && echo yes),yes,no)
WITH_IPSEC_MB := $(filter yes,$(IPSEC_MB))

LIBS := yaml-0.1 libcrypto jansson libxxhash libxml-2.0 libmicrohttpd libmnl liburing \
        $(if $(WITH_RDMA),libibverbs libmlx5)
LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null)
LIB_LINK := $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null)
LIB_LINK += $(if $(LIB_LINK),$(if $(WITH_IPSEC_MB),-lIPSec_MB))
TEST_LINK := $(shell $(PKG_CONFIG) --libs cmocka libssl 2>/dev/null)
MISSING := $(if $(LIB_LINK),,$(LIBS)) $(if $(TEST_LINK),,cmocka libssl)

# Assertions stay on in every variant: nothing here defines NDEBUG.
# Everything can go into the shared library, which shows nothing but its own functions.
BASE := -std=c11 -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden -I. $(OPT_$(VARIANT)) $(if $(WITH_RDMA),-DMEMKV_RDMA) \
        $(if $(WITH_IPSEC_MB),-DMEMKV_IPSEC_MB) $(WARNINGS) $(LIB_CFLAGS) $(CFLAGS)
LINK := $(OPT_$(VARIANT)) $(LDFLAGS)

# ---- Sources: by wildcard, a room may be absent -----------------------------------------------
HOUSE_SRC := $(filter-out $(if $(WITH_IPSEC_MB),,src/wire/gmac_ipsec.c),$(wildcard $(foreach d,fabric wire store config rail admin server client net cli scenario,\
                 src/$d/*.c) fabric_sim/*.c fabric_sim/world/*.c fabric_sim/hca/*.c \
             fabric_sim/simfabric/*.c \
             fabric_hw/os/*.c $(if $(WITH_RDMA),fabric_hw/rdma/*.c) lib/*.c))
PROGRAM_SRC := $(wildcard programs/*.c)
SIMFABRIC_SRC := $(wildcard programs/simfabric/*.c) # further parts of that program
# The verbs plug-in of simfabric, a library of its own.
VERBS_SRC := $(if $(WITH_RDMA),$(wildcard fabric_sim/verbs/*.c))
NEEDS_RDMA := $(if $(WITH_RDMA),,tests/support/verbs_%.c tests/unit/fabric_hw/rdma/%.c \
                               tests/show/verbs_%.c tests/conformance/rdma_%.c tests/unit/verbs/%.c)
SUPPORT_SRC := $(filter-out $(NEEDS_RDMA),$(wildcard tests/support/*.c))
CONFORMANCE_SRC := $(filter-out $(NEEDS_RDMA),$(wildcard tests/conformance/*.c))
UNIT_SRC := $(filter-out $(NEEDS_RDMA),$(sort $(shell find tests/unit -name '*_test.c' 2>/dev/null)))
BENCH_SRC := $(wildcard tests/bench/*.c)
SHOW_SRC := $(filter-out $(NEEDS_RDMA),$(wildcard tests/show/*.c))
FUZZ_SRC := $(wildcard tests/fuzz/*.c)
# What is built for users, and all that is compiled.
OWN_SRC := $(HOUSE_SRC) $(PROGRAM_SRC) $(SIMFABRIC_SRC) $(VERBS_SRC) $(wildcard lib/plugin/*.c)
ALL_SRC := $(OWN_SRC) $(SUPPORT_SRC) $(CONFORMANCE_SRC) $(UNIT_SRC) $(BENCH_SRC) $(SHOW_SRC) $(FUZZ_SRC)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
HOUSE := $(B)/libhouse.a
PROGRAMS := $(patsubst programs/%.c,$(B)/%,$(PROGRAM_SRC))
UNIT := $(patsubst %.c,$(B)/%,$(UNIT_SRC))
BENCH := $(patsubst %.c,$(B)/%,$(BENCH_SRC))
SHOW := $(patsubst %.c,$(B)/%,$(SHOW_SRC))
FUZZ := $(patsubst %.c,$(B)/%,$(FUZZ_SRC))
# One suite; each fabric that runs it adds its bench.
CONFORMANCE_KIT := $(filter-out %_bench.c,$(CONFORMANCE_SRC))
CONFORMANCE := $(if $(CONFORMANCE_SRC),$(B)/tests/conformance/conformance \
                                       $(B)/tests/conformance/conformance_os)
TESTS := $(UNIT) $(CONFORMANCE)
# It needs devices: ci/check-vm runs it where they are.
CONFORMANCE_RDMA := $(if $(WITH_RDMA),$(B)/tests/conformance/conformance_rdma)
PLAIN := $(if $(filter release,$(VARIANT)),$(patsubst programs/%.c,build/%,$(PROGRAM_SRC)))
# The version of the interface is the version of the program; its first number names the library.
VERSION := $(shell sed -n 's/.*MEMKV_VERSION "\(.*\)"/\1/p' src/config/version.h)
SONAME := libmemkv.so.$(firstword $(subst ., ,$(VERSION)))
SHARED := $(B)/libmemkv.so.$(VERSION)
STATIC := $(B)/libmemkv.a
# Programs of others load it: they bring no sanitizer along.
PLUGIN := $(if $(and $(VERBS_SRC),$(filter release debug o0 cov planted,$(VARIANT))),$(B)/simfabric-rdmav34.so)
# The client as one object that engines load.
LOADED := $(B)/memkv_plugin.so
LIBRARY := $(if $(filter release debug o0,$(VARIANT)),$(SHARED) $(STATIC) $(B)/libmemkv.pc $(LOADED))

ifeq ($(V),1)
say = @:
Q :=
else
say = @echo "  $(1)"
Q := @
endif
ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
say = @:
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

# ---- What people type ------------------------------------------------------------------------
.PHONY: all help crash tests objects check check-vm check-emulated lint format coverage planted scenarios bench requirements \
        demo docs fuzz install deb clean fresh list-tests FORCE

all: $(HOUSE) $(PROGRAMS) $(PLAIN) $(LIBRARY) $(PLUGIN) ## build programs and library (VARIANT=release|asan|planted|...)

tests: $(TESTS) $(CONFORMANCE_RDMA) $(BENCH) $(SHOW) ## build every test, benchmark and demonstration helper

check: ## install what is missing, build, run unit tests, conformance and scenarios
	@ci/deps $(if $(filter true,$(CI)),$(if $(WITHOUT_RDMA),check,vm),check)
	@ci/check

REPEAT = 1
check-vm: ## conformance and scenarios on the kernel's soft-RoCE, in a virtual machine (REPEAT=n)
	@ci/deps vm
	@ci/check-vm $(REPEAT)

check-emulated: ## scenarios on simfabric's simulated adapters, with the hardware backend
	@ci/deps check
	@ci/check-emulated

lint: ## arrows, formatting, sizes, comments, licence lines (ARGS=--selftest tests the rules)
	@ci/deps lint
	@ci/lint $(ARGS)

format: ## reformat the C files in place
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format -i

coverage: ## run the tests with coverage and hold the floors of coverage/floors
	@ci/deps coverage
	@ci/coverage

SECONDS = 10
fuzz: ## feed the fuzz targets (TARGET=frames for one of them, SECONDS=10 each)
	@ci/deps fuzz
	@ci/fuzz $(TARGET) --seconds $(SECONDS)

planted: ## every planted bug must turn a test red (ARGS="NAME..." for some of them)
	@ci/deps check
	@ci/planted $(ARGS)

ROUNDS = 50
crash: all ## kill -9 a real server in the middle of puts (ROUNDS=50) and read back what was acknowledged
	@ci/show/crash-real $(ROUNDS)

scenarios: all ## run every scenario file on the simulator
	@build/memkv-scenario run scenarios --fabric sim

bench: $(BENCH) ## run the benchmarks (measured / limit); never part of check
	@for b in $(BENCH); do echo "== $${b##*/}"; "$$b" || exit 1; done

requirements: ## which requirement is proven by what
	@ci/requirements

demo: ## install what is missing, build, show the scenarios and a real server, say what happened
	@ci/deps check
	@ci/demo

docs: all ## make the pages that come from the programs: manual, troubleshooting, runbook tables
	@ci/docs

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
SYSTEMDIR ?= $(LIBDIR)/systemd/system
SYSUSERSDIR ?= $(LIBDIR)/sysusers.d
SHARE = $(DESTDIR)$(PREFIX)/share
DEV = $(DESTDIR)$(LIBDIR)
BESIDE = $(DESTDIR)$(PREFIX)/libexec/memkv
MAN_SRC := $(wildcard docs/man/*.scd)
install: all ## into DESTDIR and PREFIX (/usr/local): programs, plug-in, library, manual pages, unit, examples
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/memkv $(DEV)/pkgconfig \
	        $(SHARE)/doc/memkv/examples $(SHARE)/bash-completion/completions \
	        $(DESTDIR)$(SYSTEMDIR) $(DESTDIR)$(SYSUSERSDIR)
	install -m 755 $(filter-out %/simfabric,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/bin
	install -d $(BESIDE)
	install -m 755 $(B)/simfabric $(BESIDE)
	$(if $(PLUGIN),install -m 644 $(PLUGIN) $(BESIDE)) # simfabric looks for it beside itself
	$(if $(PLUGIN),install -d $(BESIDE)/simfabric-lib && \
	    ln -sf ../$(notdir $(PLUGIN)) $(BESIDE)/simfabric-lib/libmlx5.so.1)
	ln -sf ../libexec/memkv/simfabric $(DESTDIR)$(PREFIX)/bin/simfabric
	install -m 644 $(wildcard include/memkv/*.h) $(DESTDIR)$(PREFIX)/include/memkv
	install -m 644 $(SHARED) $(STATIC) $(DEV)
	install -d $(DEV)/memkv
	install -m 644 $(LOADED) $(DEV)/memkv
	ln -sf $(notdir $(SHARED)) $(DEV)/$(SONAME)
	ln -sf $(SONAME) $(DEV)/libmemkv.so
	install -m 644 $(B)/libmemkv.pc $(DEV)/pkgconfig
	sed 's|@BINDIR@|$(PREFIX)/bin|' programs/memkv.service > $(DESTDIR)$(SYSTEMDIR)/memkv.service
	install -m 644 programs/memkv.sysusers $(DESTDIR)$(SYSUSERSDIR)/memkv.conf
	install -m 644 $(filter-out %/auth.key %.license,$(wildcard examples/*)) $(SHARE)/doc/memkv/examples
	$(B)/memkv completion bash > $(SHARE)/bash-completion/completions/memkv
	ln -sf memkv $(SHARE)/bash-completion/completions/memkv-scenario
	$(B)/simfabric completion bash > $(SHARE)/bash-completion/completions/simfabric
	@if command -v scdoc >/dev/null; then \
	    for page in $(basename $(MAN_SRC)); do \
	        install -d $(SHARE)/man/man$${page##*.} && \
	        scdoc < $$page.scd > $(SHARE)/man/man$${page##*.}/$${page##*/} || exit 1; \
	    done; \
	 else echo "install: without scdoc there are no manual pages"; fi

deb: ## Debian packages of this tree, in build/deb
	@ci/deps deb
	@ci/deb

fresh: ## run `make check` in a clean Debian root
	@ci/fresh make check

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

list-tests: # what ci/check runs: one path a line
	@printf '%s\n' $(TESTS)

objects: $(call obj,$(OWN_SRC)) # what ci/lint looks into

# ---- How things are made ---------------------------------------------------------------------
# These files hold the flags and the source list: a change of either rebuilds what it must.
define keep
@mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' > $@
endef
$(B)/flags: FORCE
	$(call keep,$(CC) $(BASE) $(LINK))
$(B)/sources: FORCE
	$(call keep,$(HOUSE_SRC))

.PHONY: libraries
libraries:
ifeq ($(WITH_RDMA),)
	@echo "make: without rdma-core (libibverbs, libmlx5) fabric_hw/rdma and the verbs plug-in of simfabric are left out: no RDMA devices" >&2
endif
ifneq ($(strip $(MISSING)),)
	@echo "make: not found by $(PKG_CONFIG): $(strip $(MISSING))" >&2; \
	 echo "make: \`ci/deps\` installs them, or type: $$(ci/deps --line)" >&2; exit 1
endif

$(B)/obj/%.o: %.c $(B)/flags | libraries
	$(call say,CC $<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(STRICT) -MMD -MP -c -o $@ $<

$(HOUSE): $(call obj,$(HOUSE_SRC)) $(B)/sources
	@mkdir -p $(@D); rm -f $@
	$(Q)ar rcs $@ $(filter %.o,$^)

$(B)/simfabric: $(call obj,$(SIMFABRIC_SRC))
$(PROGRAMS): $(B)/%: $(B)/obj/programs/%.o $(HOUSE)
	$(call say,LD $@)
	$(Q)$(CC) $(LINK) -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK)

$(PLAIN): build/%: build/release/%
	@ln -sf release/$* $@

# A name that is being looked up outlives its client, so the shared library stays loaded.
# Shared and static show the same names: what is hidden in the objects is local in the archive.
$(SHARED): $(call obj,$(wildcard lib/*.c)) $(HOUSE) lib/memkv.map
	$(call say,LD $@)
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=lib/memkv.map \
	    -Wl,-z,defs -Wl,-z,nodelete -Wl,--as-needed -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK)

$(STATIC): $(call obj,$(wildcard lib/*.c)) $(HOUSE)
	$(call say,AR $@)
	$(Q)$(CC) -r -nostdlib -o $(B)/libmemkv.o $(filter %.o,$^) $(HOUSE)
	$(Q)objcopy --localize-hidden $(B)/libmemkv.o
	$(Q)rm -f $@; ar rcs $@ $(B)/libmemkv.o

$(LOADED): $(call obj,$(wildcard lib/*.c lib/plugin/*.c)) $(HOUSE) lib/plugin/plugin.map
	$(call say,LD $@)
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script=lib/plugin/plugin.map \
	    -Wl,-z,defs -Wl,-z,nodelete -Wl,--as-needed -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK)

# libibverbs loads it into programs: it shows nothing, and brings along what it needs of the house.
# It is libmlx5 too, for those who are led to the folder in which it has that name.
$(PLUGIN): $(call obj,$(VERBS_SRC)) $(HOUSE) fabric_sim/verbs/mlx5.map
	$(call say,LD $@)
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,libmlx5.so.1 -Wl,--version-script=fabric_sim/verbs/mlx5.map \
	    -Wl,-z,defs -Wl,--as-needed -Wl,--exclude-libs,ALL -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK)
	@mkdir -p $(@D)/simfabric-lib
	$(Q)ln -sf ../$(@F) $(@D)/simfabric-lib/libmlx5.so.1

# PREFIX and LIBDIR may differ from call to call.
$(B)/libmemkv.pc: lib/libmemkv.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@PRIVATE@|$(filter-out -lxml2,$(LIB_LINK))|' $< > $@

$(UNIT) $(BENCH) $(SHOW): $(B)/%: $(B)/obj/%.o $(call obj,$(SUPPORT_SRC)) $(HOUSE)
	$(call say,LD $@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK) -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK) $(TEST_LINK)

$(FUZZ): $(B)/%: $(B)/obj/%.o $(call obj,$(SUPPORT_SRC)) $(HOUSE)
	$(call say,LD $@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK) $(TEST_LINK)

# These run the programs.
$(filter $(B)/tests/unit/programs/% $(B)/tests/unit/verbs/%,$(UNIT)): | $(PROGRAMS) $(PLUGIN)

$(B)/tests/conformance/conformance: $(call obj,tests/conformance/sim_bench.c)
$(B)/tests/conformance/conformance_os: $(call obj,tests/conformance/os_bench.c \
                                               tests/conformance/machine_bench.c)
$(B)/tests/conformance/conformance_rdma: $(call obj,tests/conformance/rdma_bench.c \
                                                 tests/conformance/machine_bench.c)
$(CONFORMANCE) $(CONFORMANCE_RDMA): $(call obj,$(CONFORMANCE_KIT) $(SUPPORT_SRC)) $(HOUSE) $(B)/sources
	$(call say,LD $@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK) -o $@ $(filter %.o,$^) $(HOUSE) $(LIB_LINK) $(TEST_LINK)

-include $(patsubst %.o,%.d,$(call obj,$(ALL_SRC)))
