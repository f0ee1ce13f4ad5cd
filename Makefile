# Every target that has a "##" comment shows up in "make help".
GO           ?= go
FUZZTIME     ?= 10m
FUZZ         ?=
FUZZFLAGS    ?=
BENCH        ?= .
BIN          ?= bin/flakepass
VERSION      ?=
VULNDB       ?=
LIN          ?= 60s
SCALE        ?= 1000000,10000000
IMPORT       ?= 1000000
INSTANCES    ?= 1,4,16,64
CHAOS        ?= .
CAMPAIGN     ?= 20m
CLUSTERS     ?= galera,galera-one,group,semisync
FAULTS       ?= .
PROMISE_WORLDS ?= 1000000
SEED         ?=
SEEDS        ?= 100000
WORLDS       ?= 10000
DUP_IDS      ?= 1000000000
DUP_FOR      ?= 15m
FRESH_TEST   ?=
RACE_COUNT   ?= 50
RACED        ?= ./api/... ./internal/proof/remote ./idworker ./internal/domain/account ./internal/domain/activity ./internal/domain/operator ./internal/edge/console ./internal/domain/audit \
                ./internal/store/breached ./internal/store/broadcast ./internal/store/feed ./internal/store/layer ./internal/store/memstore ./internal/edge/clientaddr ./internal/server/config ./internal/domain/fleet ./internal/edge/httpapi \
                ./internal/server/keypair ./internal/domain/limit ./internal/domain/login ./internal/domain/policy ./api/problem ./internal/domain/secondfactor \
                ./internal/domain/session/... ./internal/domain/sweep ./internal/server/telemetry ./internal/domain/ratelimit/... ./migrations
# gin leaves out MessagePack, which flakepass does not use: 6 MB less.
TAGS         := nomsgpack
# More in parallel than a small machine has cores, because most of these tests wait for a
# bound, a server or a database: with two test binaries and two tests of each, two cores are
# idle for half of the time. With three and four they are no busier than with two and four,
# and each test waits longer for its turn.
# GOGC is 400 there: the collector is dear with the race detector, and takes a tenth to a
# quarter of the time of most packages otherwise.
TESTFLAGS    ?= -p 2 -parallel 4 -timeout 40m
# By default a program with the race detector sleeps a second before it ends. A race
# is reported when it happens, not at the end.
export GORACE ?= atexit_sleep_ms=20
# The folder of the sources is not compiled into what is tested, so that the build cache
# of one clone serves the next: otherwise each compiles all of our packages again.
export GOFLAGS := $(strip -trimpath $(GOFLAGS))
# SQLite and Argon2id are compiled without the race detector, which makes both several
# times slower. SQLite's memory is outside of its view, and a hash of Argon2id shares no
# memory. Their callers are checked. Only packages that instantiate no generic function
# of other packages may be here (go tool nm): the linker might use their instance for all.
UNRACED      := modernc.org/sqlite/lib modernc.org/libc modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b
RACE         := -race $(UNRACED:%=-gcflags=%=-race=false)
# The modules of go.work; "./..." alone is the packages of the outer one.
MODULE       := github.com/flakepass/flakepass
PUBLIC       := api idworker
ALL          := ./... $(PUBLIC:%=./%/...)
# Each tool has a module file of its own, which the go command accepts only
# outside of a workspace. The linter itself reads the workspace.
GOLANGCI     := $(CURDIR)/bin/golangci-lint
CYCLONEDX    := GOWORK=off $(GO) tool -modfile="$(CURDIR)/internal/tools/cyclonedx-gomod.mod" cyclonedx-gomod
# Modules of their own, so that what we compare ourselves with is no dependency of ours:
# generators of IDs, and libraries for sessions.
PEERS        := idworker/internal/peers
COMPARED     := $(PEERS) internal/proof/bench/libraries
PEERSFLAGS   ?=
# These look at sources, at what the go command says, or at processes that they start: the
# program as people run it, a proxy, another implementation. The race detector would see
# nothing but their own goroutines, and take up to nine tenths of their time (DECISIONS 126).
# The model has one goroutine, and the benchmarks drive what the tests of other packages run
# with it. A package that is not named here is run with it. "make test APART=" runs them with it.
APART        := arch attack bench fuzzall interop model mutant
APART_LIST   := $(APART:%=./internal/proof/%)
# All others, in the language of the shell.
OTHERS       := $$($(GO) list -tags $(TAGS) $(ALL) | grep -v -x -e '' $(APART:%=-e $(MODULE)/internal/proof/%))
# The longest packages start first, so that none runs alone at the end.
# "make lint" vets all packages.
DEAR         := ./internal/proof/cluster ./internal/proof/deploytest ./internal/proof/lifecycletest ./internal/proof/consoletest ./internal/proof/commandtest ./internal/store/sqlstore ./internal/proof/chaos
# Files that the tests need and the machine lacks; install.sh uses it too.
TESTCACHE    := $(or $(FLAKEPASS_TEST_CACHE),$(HOME)/.cache/flakepass-test)
# The program that the packages of "make test" start.
TESTED       := bin/tested/flakepass
# Not "go run": a SIGTERM would end it and leave the owner of the servers running.
WITHSERVERS  := bin/withservers

.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r t d; do printf '  %-16s %s\n' "$$t" "$$d"; done

run: ## run the server without configuration: SQLite, no Redis
	$(GO) run -tags $(TAGS) ./cmd/flakepass serve

# The same sources, the same Go and the same VERSION make the same bytes in any
# folder and any state of Git: the program contains neither.
build: ## build bin/flakepass, without cgo; BIN is the file, VERSION the version that it prints
	CGO_ENABLED=0 $(GO) build -tags $(TAGS) -trimpath -buildvcs=false -ldflags '-s -w -X github.com/flakepass/flakepass/internal/server/release.stamped=$(VERSION)' -o $(BIN) ./cmd/flakepass

sbom: build ## write the parts of bin/flakepass to bin/flakepass.cdx.json (CycloneDX)
	$(CYCLONEDX) bin -json -std -noserial -notimestamp -version "v$$($(BIN) version --short)" -output $(BIN).cdx.json $(BIN)

licences: ## write docs/licences.md, and the licence texts in the program, from the linked modules
	$(GO) test -tags $(TAGS) -count 1 -run '^TestLicencesOfWhatIsShipped$$' ./internal/proof/supply -update

vuln: ## look for known vulnerabilities in the called code; VULNDB names a copy of the database
	@GOWORK=off $(GO) build -modfile="$(CURDIR)/internal/tools/govulncheck.mod" -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@GOVULNCHECK='$(CURDIR)/bin/govulncheck' sh internal/tools/vuln.sh "$(VULNDB)" . $(PUBLIC) $(COMPARED)

test: servers ## install what is missing, start MySQL, MariaDB, Redis and ZooKeeper, and clusters of databases, run every test, with the race detector but for APART, half of "sim", and "dup" for 45 s
	$(GO) build -tags $(TAGS) -ldflags '-s -w' -o $(TESTED) ./cmd/flakepass # once, and not in each package that starts it
	@# Compiles with empty caches, while no test runs that a busy machine could fail.
	$(GO) list $(RACE) -tags $(TAGS) -test -export $(DEAR) $(OTHERS) >/dev/null
	$(if $(APART),$(GO) list -tags $(TAGS) -test -export $(APART_LIST) >/dev/null)
	FLAKEPASS_TEST_PROGRAM='$(CURDIR)/$(TESTED)' GOGC=400 $(WITHSERVERS) -- $(MAKE) --no-print-directory packages
	cd $(PEERS) && GOWORK=off $(GO) test -timeout 2m ./...
	@$(MAKE) --no-print-directory sim SEEDS=50000 WORLDS=5000
	@$(MAKE) --no-print-directory dup DUP_IDS=0 DUP_FOR=45s

# What "test" runs while its servers are up. Both parts run, also after a red test.
packages:
	@others="$(OTHERS)" && [ -n "$$others" ] || exit 1; status=0; set -x; \
	$(GO) test $(RACE) -vet=off -tags $(TAGS) $(TESTFLAGS) $(DEAR) $$others || status=1; \
	$(if $(APART),$(GO) test -vet=off -tags $(TAGS) $(TESTFLAGS) $(APART_LIST) || status=1;) exit $$status

chaos: servers ## break each server that flakepass needs, one after the other: about 10 minutes; CHAOS=regexp chooses, FLAKEPASS_CHAOS_SEED repeats
	FLAKEPASS_CHAOS=whole $(WITHSERVERS) -only mysql,mariadb,redis -- $(GO) test $(RACE) -tags $(TAGS) -count=1 -v -timeout 40m -run '$(CHAOS)' ./internal/proof/chaos

cluster: servers build ## start real clusters of databases (Galera, Group Replication, a source with its replica, HAProxy), show what flakepass may rely on there, and break them under three instances: some 25 minutes; CLUSTERS and FAULTS=regexp choose
	$(GO) build -tags $(TAGS) -o bin/campaign ./internal/proof/campaign
	FLAKEPASS_TEST_WITHSERVERS='$(CURDIR)/$(WITHSERVERS)' FLAKEPASS_TEST_REQUIRE_SERVERS=1 $(GO) test -tags $(TAGS) -count=1 -v -timeout 20m ./internal/proof/cluster
	FLAKEPASS_TEST_WITHSERVERS='$(CURDIR)/$(WITHSERVERS)' bin/campaign -program $(BIN) -db '$(CLUSTERS)' -faults '$(FAULTS)' -bound 2s -redis off -seed '$(SEED)'

promise: ## run all tests of the promise: the model, PROMISE_WORLDS (1000000) simulated deployments, and the campaign from outside for CAMPAIGN (20m)
	@$(MAKE) --no-print-directory model
	FLAKEPASS_SIM_SEEDS=$(PROMISE_WORLDS) GOGC=400 $(GO) test -tags $(TAGS) -count 1 -timeout 48h -run '^TestRevocationHolds$$' -v ./internal/proof/simulation
	@$(MAKE) --no-print-directory campaign

campaign: servers build ## attack the promise from outside for CAMPAIGN (20m), on each database, with and without Redis; SEED=n repeats an earlier run
	$(GO) build -tags $(TAGS) -o bin/campaign ./internal/proof/campaign
	$(WITHSERVERS) -only redis -- bin/campaign -program $(BIN) -for $(CAMPAIGN) -seed '$(SEED)'
	FLAKEPASS_CAMPAIGN=clock $(WITHSERVERS) -only redis -- $(GO) test -tags $(TAGS) -count=1 -v -timeout 20m -run TestPromiseHoldsWithWrongClocks ./internal/proof/campaign

attack: servers ## attack the real program, alone and behind nginx (docs/threats.md), with a million forged tokens: some ten minutes
	FLAKEPASS_ATTACK=whole FLAKEPASS_TEST_REQUIRE_SERVERS=1 $(GO) test -tags $(TAGS) -count=1 -v -timeout 40m ./internal/proof/attack

mutants: servers ## remove each protection from the code, one at a time, and name the test that fails; MUTANTS=regexp chooses
	FLAKEPASS_SIM_SEEDS=1000 FLAKEPASS_TEST_WITHSERVERS='$(CURDIR)/$(WITHSERVERS)' $(WITHSERVERS) -only mysql,mariadb,redis -- $(GO) run -tags $(TAGS) ./internal/proof/mutant -only '$(MUTANTS)' -tags $(TAGS)

dup: servers ## try to make real processes mint an ID twice, until they have minted DUP_IDS (a billion) or for DUP_FOR (15m)
	$(GO) build -tags $(TAGS) -o bin/dup ./internal/proof/dup
	FLAKEPASS_TEST_WITHSERVERS='$(CURDIR)/$(WITHSERVERS)' bin/dup -ids $(DUP_IDS) -for $(DUP_FOR)

sim: ## simulate ID workers for SEEDS seeds (100000) and deployments for WORLDS (10000), each with other clocks, kills and outages
	GOGC=400 $(GO) test -tags $(TAGS) -count 1 -timeout 24h -run '^TestSimulationMintsNothingTwice$$' -v ./idworker -seeds $(SEEDS)
	FLAKEPASS_SIM_SEEDS=$(WORLDS) GOGC=400 $(GO) test -tags $(TAGS) -count 1 -timeout 48h -run '^TestRevocationHolds$$' -v ./internal/proof/simulation

model: ## search every order of events in the larger worlds of docs/model.md: some five minutes, up to 8 GiB of memory
	FLAKEPASS_MODEL=whole $(GO) test -tags $(TAGS) -count 1 -v -timeout 2h -run '^TestRulesKeepThePromises$$' ./internal/proof/model

fresh: ## test the current commit as on a new machine: a clone, empty caches, the README's two commands; FRESH_TEST=command instead of "make test"
	bash internal/proof/testenv/fresh.sh $(if $(FRESH_TEST),'$(FRESH_TEST)')

race: ## run the tests of RACED (those without servers) RACE_COUNT (50) times with the race detector, one package at a time
	@status=0; for p in $(RACED); do $(GO) test $(RACE) -vet=off -tags $(TAGS) -p 1 -count $(RACE_COUNT) -timeout 2h $$p || status=1; done; exit $$status

test-quick: ## run the tests with the servers of this machine; tests without their server are skipped
	$(GO) test -tags $(TAGS) $(TESTFLAGS) $(ALL)

lin: servers ## record the answers to clients of three instances, LIN (60s) for each situation, and look for an order that explains them
	FLAKEPASS_TEST_LIN_TIME=$(LIN) $(WITHSERVERS) -only mysql,redis -- $(GO) test -tags $(TAGS) -count 1 -v -timeout 60m \
		-artifacts -outputdir bin -run '^Test(RecordedHistories|BrokenServerIsFound)$$' ./internal/proof/lineartest

lint: ## check the sums of the dependencies, format, go vet and golangci-lint, which has all checks of staticcheck
	GOWORK=off $(GO) build -modfile="$(CURDIR)/internal/tools/golangci.mod" -o "$(GOLANGCI)" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	$(GO) mod verify
	for m in $(COMPARED); do (cd $$m && GOWORK=off $(GO) mod verify) || exit 1; done
	$(GO) vet -tags $(TAGS) $(ALL)
	$(GOLANGCI) run --allow-parallel-runners $(ALL)
	for m in $(COMPARED); do (cd $$m && GOWORK=off $(GO) vet ./... && GOWORK=off $(GOLANGCI) run --allow-parallel-runners) || exit 1; done

# "go mod tidy" reads no go.work, and would look for our own modules on the network.
tidy: ## tidy go.mod and go.sum of every module
	@mkdir -p bin && cp go.mod bin/tidy.mod && cp go.sum bin/tidy.sum
	GOWORK=off $(GO) mod edit $(foreach m,$(PUBLIC),-replace=$(MODULE)/$m=./$m) bin/tidy.mod
	GOWORK=off $(GO) mod tidy -modfile=bin/tidy.mod
	GOWORK=off $(GO) mod edit $(PUBLIC:%=-dropreplace=$(MODULE)/%) bin/tidy.mod
	mv bin/tidy.mod go.mod && mv bin/tidy.sum go.sum
	for m in $(PUBLIC) $(COMPARED); do (cd $$m && GOWORK=off $(GO) mod tidy) || exit 1; done

release: ## write VERSION (vX.Y.Z) where the modules name each other; CONTRIBUTING.md has the next steps
	$(GO) mod edit $(PUBLIC:%=-require=$(MODULE)/%@$(VERSION))
	sed -i -E 's|^(replace $(MODULE)/[a-z]+) v[^ ]+|\1 $(VERSION)|' go.work

fmt: ## format every Go file
	gofmt -s -w .

bench: ## compare with the simplest program that does the same work (docs/performance.md); BENCH=regexp chooses
	$(GO) test -tags $(TAGS) -run '^$$' -bench '$(BENCH)' -timeout 15m ./internal/proof/bench

peers: ## compare idworker with other ID generators, in about six minutes (docs/performance.md); PEERSFLAGS=-help lists options
	@mkdir -p bin
	cd $(PEERS) && GOWORK=off $(GO) build -o "$(CURDIR)/bin/peers" .
	bin/peers $(PEERSFLAGS)

scale: servers ## build 1 and then 10 million users in a MySQL of its own and measure (docs/performance.md); SCALE=n,nx5 chooses, x5 with five sessions each
	FLAKEPASS_SCALE_USERS=$(SCALE) $(WITHSERVERS) -only mysql -durable -- \
		$(GO) test -tags $(TAGS) -v -count 1 -run '^TestScale$$' -timeout 2h ./internal/proof/scale

scale-instances: servers ## let 1, 4, 16 and 64 instances poll one MySQL, and measure (docs/performance.md); INSTANCES=n,n chooses
	FLAKEPASS_SCALE_INSTANCES=$(INSTANCES) $(WITHSERVERS) -only mysql -durable -- \
		$(GO) test -tags $(TAGS) -v -count 1 -run '^TestScaleOfInstances$$' -timeout 30m ./internal/proof/scale

scale-import: servers ## import a million users into a MySQL of its own (docs/performance.md); IMPORT=n chooses
	FLAKEPASS_SCALE_IMPORT=$(IMPORT) $(WITHSERVERS) -only mysql -durable -- \
		$(GO) test -tags $(TAGS) -v -count 1 -run '^TestImportIsFlatAndResumable$$' -timeout 2h ./internal/proof/scale

fuzz: ## fuzz every target for FUZZTIME (10m), several at a time; FUZZ=regexp chooses; FUZZFLAGS=-own builds faster; inputs are kept in the cache of the tests
	$(GO) build -o bin/fuzzall ./internal/proof/fuzzall
	bin/fuzzall $(FUZZFLAGS) -tags $(TAGS) -time $(FUZZTIME) -only '$(FUZZ)' -corpus "$(TESTCACHE)/fuzz"

stats: ## count lines, files, functions, interfaces, the files of two requests and the modules of an importer, and write them into ARCHITECTURE.md
	$(GO) run -tags $(TAGS) ./internal/proof/stats -update

install-servers: ## install the servers that the tests need (Debian; as root or with sudo)
	sh internal/proof/testenv/install.sh

clean: ## remove what the other targets made in this folder
	rm -rf bin flakepass-data

servers: install-servers
	$(GO) build -o $(WITHSERVERS) ./internal/proof/testenv/withservers
	@mkdir -p "$(TESTCACHE)/bin"
	CGO_ENABLED=0 GOWORK=off $(GO) build -modfile="$(CURDIR)/internal/tools/caddy.mod" -o "$(TESTCACHE)/bin/caddy" github.com/caddyserver/caddy/v2/cmd/caddy

.PHONY: help run build sbom licences vuln test fresh race promise chaos cluster campaign attack mutants dup sim model test-quick lin lint tidy release fmt bench peers scale scale-import scale-instances fuzz stats install-servers clean servers packages
