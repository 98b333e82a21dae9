# Two commands for a fresh machine with cargo, gcc and make:
#   make demo   builds assay and runs its main command on a scratch file here: about a minute, then a verdict
#   make test   installs what the tests need, then formatting, lints and all tests
CARGO ?= cargo

.PHONY: help build demo test needs fmt lint shape unit soak campaign own-delays fuzz fuzz-smoke mutants bench bench-smoke services-verdicts slurm

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

build:
	$(CARGO) build --release -p assay

# Any verdict is a success of the demo: 10 is FAIL and 11 INVALID. Its profile is quick to build; measurements use the release.
demo:
	$(CARGO) build --profile demo -p assay
	@echo "$(CARGO) run --profile demo -p assay -- certify --quick"; \
	$(CARGO) run --quiet --profile demo -p assay -- certify --quick; code=$$?; \
	case $$code in \
	  0|10|11) echo "assay ended with exit code $$code (0 PASS, 10 FAIL, 11 INVALID)";; \
	  *) exit $$code;; \
	esac

test: needs fmt lint shape unit bench-smoke fuzz-smoke

needs:
	scripts/test-needs

fmt:
	$(CARGO) fmt --all --check

# The readers that are fuzzed are a workspace of their own: without the second line a change of an interface breaks them unseen.
# The build machine builds them anyway. The third: the program can be built without the live page.
lint:
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	[ -n "$$CI" ] || $(CARGO) check --quiet --manifest-path fuzz/Cargo.toml --target-dir $${CARGO_TARGET_DIR:-target}
	$(CARGO) clippy --workspace --exclude assay-live --no-default-features --bins -- -D warnings

# Figures of the code's shape, each with a limit that only becomes stricter.
shape:
	scripts/shape

unit:
	scripts/unit

# All tests ten times, with TIMES=3 three times, and how often each failed: what depends on the pace of the machine.
soak:
	scripts/soak $(TIMES)

# A quarter of an hour for each reader; with SECONDS=60 a minute. As many readers at a time as there are processors.
fuzz:
	scripts/fuzz $(or $(SECONDS),900)

fuzz-smoke:
	PROFILE=smoke scripts/fuzz $(or $(FUZZ_SECONDS),10)

# What must hold over repeated trials (whose lag it is, stalls) twenty times instead of twice, 1,000 random moments of kill -9 and
# ctrl-c within faults and 1,000 of a run with a cache, twenty times as many cuts of logs, and a log of 5 GiB to import: more than an hour.
campaign:
	ASSAY_CAMPAIGN=20 $(CARGO) test -p assay-judge --test all recorded::
	ASSAY_CAMPAIGN=20 $(CARGO) test -p assay --test faults -- --nocapture campaign:: lag:: times::
	ASSAY_CAMPAIGN=20 $(CARGO) test -p assay --test computing a_large_log
	ASSAY_CAMPAIGN=20 $(CARGO) test -p assay-cache --test cached
	ASSAY_FILES_CAMPAIGN=10000000 ASSAY_FILES_CALLS=10000000 ASSAY_KILLS=1000 $(CARGO) test -p assay-files --test all campaign:: mixes:: own_dir_killed::
	ASSAY_CAMPAIGN=20 $(CARGO) test -p assay --test program -- --nocapture cache::after_a_kill killed:: neighbours::
	ASSAY_LATE_DEVICES=10000 $(CARGO) test -p assay --test late -- --nocapture campaign::
	ASSAY_CAMPAIGN=20 $(CARGO) test -p assay --test late -- --nocapture neighbours::

# 200 short runs of a program that is kept from running, on a device that answers at once: none may FAIL. RUNS=20 for fewer.
own-delays: build
	scripts/own-delays $(or $(RUNS),200)

# Changes the code of a room and checks whether its tests notice each change: hours. ROOM=safety, writer, judge, engine or resume.
mutants:
	scripts/mutants $(or $(ROOM),safety) $(MUTANTS)

bench:
	bench/run

# Whether `certify etcd` and an etcd say the same of 40 settings of a disk that delays: 42 minutes. SETTINGS=4 for the first four.
services-verdicts: build
	scripts/services-verdicts 1 $(or $(SETTINGS),40)

# Several ranks under Slurm, on a cluster of four nodes on this machine (root; apt-get install slurmctld slurmd slurm-client libpmix-dev).
slurm:
	$(CARGO) build -p assay
	ASSAY=$${CARGO_TARGET_DIR:-target}/debug/assay scripts/slurm-check

# Each benchmark at its smallest size, with the tests' own build: this tests that it works, never how fast it is.
bench-smoke:
	$(CARGO) test --quiet --workspace --no-run
	ASSAY=$${CARGO_TARGET_DIR:-target}/debug/assay SCALE=smoke bench/run $${CARGO_TARGET_DIR:-target}/bench-smoke.md
