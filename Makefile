# Every target that has a "##" comment shows up in "make help".
GO           ?= go
FUZZTIME     ?= 10m
FUZZ         ?=
BENCH        ?= .
BIN          ?= bin/flakepass
VERSION      ?=
VULNDB       ?=
LIN          ?= 60s
SCALE        ?= 1000000,10000000
CHAOS        ?= .
CAMPAIGN     ?= 20m
PROMISE_WORLDS ?= 1000000
SEED         ?=
SEEDS        ?= 100000
WORLDS       ?= 10000
DUP_IDS      ?= 1000000000
DUP_FOR      ?= 15m
FRESH_TEST   ?=
RACE_COUNT   ?= 50
RACED        ?= ./api/... ./internal/proof/remote ./idworker ./internal/domain/account ./internal/domain/activity ./internal/domain/operator ./internal/edge/console ./internal/domain/audit \
                ./internal/store/breached ./internal/edge/clientaddr ./internal/server/config ./internal/domain/firstadmin ./internal/domain/fleet ./internal/edge/httpapi \
                ./internal/server/keypair ./internal/domain/limit ./internal/domain/login ./internal/domain/policy ./api/problem ./internal/domain/secondfactor \
                ./internal/domain/session/... ./internal/domain/sweep ./internal/server/telemetry ./internal/domain/ratelimit/... ./migrations
# gin leaves out MessagePack, which nothing here speaks: 6 MB less.
TAGS         := nomsgpack
# More at a time than a small machine has cores: most of these tests wait, for a
# bound to pass, a server or a database. Two cores are idle for half of the time with two
# test binaries and two tests of each.
TESTFLAGS    ?= -p 3 -parallel 4 -timeout 20m
# A program with the race detector sleeps a second before it ends, unless told
# otherwise; a race is reported when it happens, and not then.
export GORACE ?= atexit_sleep_ms=20
# The race detector does not look into SQLite, whose memory lies where it sees
# nothing, nor into Argon2id, where a hash has its memory to itself: both take a
# multiple of their time with it. What calls them is looked at. Only packages
# that make no instance of a generic function of others can be here (go tool nm):
# the linker might take theirs for all.
# The search of the model has one goroutine, and takes five times as long.
UNRACED      := github.com/flakepass/flakepass/internal/proof/model modernc.org/sqlite/lib modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b
RACE         := -race $(UNRACED:%=-gcflags=%=-race=false)
# The modules of go.work; "./..." alone is the packages of the outer one.
MODULE       := github.com/flakepass/flakepass
PUBLIC       := api
ALL          := ./... $(PUBLIC:%=./%/...)
# A tool has the versions of a file of its own, which the go command takes only
# outside of a workspace. The linter itself looks at the workspace.
GOLANGCI     := $(CURDIR)/bin/golangci-lint
CYCLONEDX    := GOWORK=off $(GO) tool -modfile="$(CURDIR)/internal/tools/cyclonedx-gomod.mod" cyclonedx-gomod
# A module of its own: what idworker is compared with is no dependency of ours.
PEERS        := idworker/internal/peers
PEERSFLAGS   ?=
# What takes longest begins first, so that nothing long is left alone at the end.
# "make lint" vets all of it.
DEAR         := ./internal/proof/deploytest ./internal/proof/lifecycletest ./internal/proof/consoletest ./internal/proof/commandtest ./internal/store/sqlstore ./internal/proof/chaos ./internal/proof/attack ./internal/proof/supply ./internal/proof/proxies
# What the tests need and the machine does not have; install.sh looks there too.
TESTCACHE    := $(or $(FLAKEPASS_TEST_CACHE),$(HOME)/.cache/flakepass-test)
# Not "go run": it would die of a SIGTERM and leave the servers' owner behind.
WITHSERVERS  := bin/withservers

.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r t d; do printf '  %-16s %s\n' "$$t" "$$d"; done

run: ## run the server with nothing configured: SQLite, no Redis
	$(GO) run -tags $(TAGS) ./cmd/flakepass serve

# The same sources, the same Go and the same VERSION make the same bytes,
# whatever the folder and the state of Git: neither is put into the program.
build: ## build bin/flakepass, without cgo; BIN is where, VERSION is what it says it is
	CGO_ENABLED=0 $(GO) build -tags $(TAGS) -trimpath -buildvcs=false -ldflags '-s -w -X github.com/flakepass/flakepass/internal/server/release.stamped=$(VERSION)' -o $(BIN) ./cmd/flakepass

sbom: build ## write what bin/flakepass is made of to bin/flakepass.cdx.json (CycloneDX)
	$(CYCLONEDX) bin -json -std -noserial -notimestamp -version "v$$($(BIN) version --short)" -output $(BIN).cdx.json $(BIN)

licences: ## write docs/licences.md, and the texts that the program carries, from what is linked into it
	$(GO) test -tags $(TAGS) -count 1 -run '^TestLicencesOfWhatIsShipped$$' ./internal/proof/supply -update

vuln: ## look for known vulnerabilities in what the code calls; VULNDB names a copy of the database
	@GOWORK=off $(GO) build -modfile="$(CURDIR)/internal/tools/govulncheck.mod" -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@GOVULNCHECK='$(CURDIR)/bin/govulncheck' sh internal/tools/vuln.sh "$(VULNDB)" . $(PUBLIC) $(PEERS)

test: servers ## install what is missing, start MySQL, MariaDB, Redis and ZooKeeper, run every test with the race detector, half of "sim", and "dup" for 45 s
	$(GO) build -tags $(TAGS) -ldflags '-s -w' -o /dev/null ./cmd/flakepass # once, and not in each package that starts it
	$(WITHSERVERS) -- $(GO) test $(RACE) -vet=off -tags $(TAGS) $(TESTFLAGS) $(DEAR) $(ALL)
	cd $(PEERS) && GOWORK=off $(GO) test -timeout 2m ./...
	@$(MAKE) --no-print-directory sim SEEDS=50000 WORLDS=5000
	@$(MAKE) --no-print-directory dup DUP_IDS=0 DUP_FOR=45s

chaos: servers ## break everything that the server stands on, one after the other: about 10 minutes; CHAOS=regexp chooses, FLAKEPASS_CHAOS_SEED repeats
	FLAKEPASS_CHAOS=whole $(WITHSERVERS) -only mysql,mariadb,redis -- $(GO) test $(RACE) -tags $(TAGS) -count=1 -v -timeout 40m -run '$(CHAOS)' ./internal/proof/chaos

promise: ## run all that guards the promise: the model, PROMISE_WORLDS (1000000) simulated deployments, and the campaign from outside for CAMPAIGN (20m)
	@$(MAKE) --no-print-directory model
	FLAKEPASS_SIM_SEEDS=$(PROMISE_WORLDS) GOGC=400 $(GO) test -tags $(TAGS) -count 1 -timeout 48h -run '^TestRevocationHolds$$' -v ./internal/proof/simulation
	@$(MAKE) --no-print-directory campaign

campaign: servers build ## attack the promise from outside for CAMPAIGN (20m), on each database, with and without Redis; SEED=n repeats what an earlier run did
	$(GO) build -tags $(TAGS) -o bin/campaign ./internal/proof/campaign
	$(WITHSERVERS) -only redis -- bin/campaign -program $(BIN) -for $(CAMPAIGN) -seed '$(SEED)'

attack: servers ## attack the real program, alone and behind nginx (docs/threats.md), with a million forged tokens: some ten minutes
	FLAKEPASS_ATTACK=whole FLAKEPASS_TEST_REQUIRE_SERVERS=1 $(GO) test -tags $(TAGS) -count=1 -v -timeout 40m ./internal/proof/attack

mutants: servers ## take each protection out of the code, one at a time, and name the test that notices; MUTANTS=regexp chooses
	$(WITHSERVERS) -only mysql,mariadb,redis -- $(GO) run -tags $(TAGS) ./internal/proof/mutant -only '$(MUTANTS)' -tags $(TAGS)

dup: servers ## try to make real processes mint an ID twice, until they have minted DUP_IDS (a billion) or for DUP_FOR (15m)
	$(GO) build -tags $(TAGS) -o bin/dup ./internal/proof/dup
	FLAKEPASS_TEST_WITHSERVERS='$(CURDIR)/$(WITHSERVERS)' bin/dup -ids $(DUP_IDS) -for $(DUP_FOR)

sim: ## simulate ID workers for SEEDS seeds (100000) and deployments for WORLDS (10000), each with other clocks, kills and outages
	GOGC=400 $(GO) test -tags $(TAGS) -count 1 -timeout 24h -run '^TestSimulationMintsNothingTwice$$' -v ./idworker -seeds $(SEEDS)
	FLAKEPASS_SIM_SEEDS=$(WORLDS) GOGC=400 $(GO) test -tags $(TAGS) -count 1 -timeout 48h -run '^TestRevocationHolds$$' -v ./internal/proof/simulation

model: ## look at every order of events in the larger worlds of docs/model.md: some five minutes, up to 8 GiB of memory
	FLAKEPASS_MODEL=whole $(GO) test -tags $(TAGS) -count 1 -v -timeout 2h -run '^TestRulesKeepThePromises$$' ./internal/proof/model

fresh: ## do what a new machine does with the current commit: a clone, empty caches, the README's two commands; FRESH_TEST=command instead of "make test"
	bash internal/proof/testenv/fresh.sh $(if $(FRESH_TEST),'$(FRESH_TEST)')

race: ## run the tests of RACED (those without servers) RACE_COUNT (50) times with the race detector, one package at a time
	@status=0; for p in $(RACED); do $(GO) test $(RACE) -vet=off -tags $(TAGS) -p 1 -count $(RACE_COUNT) -timeout 2h $$p || status=1; done; exit $$status

test-quick: ## run the tests on what this machine has; those whose server is absent are skipped
	$(GO) test -tags $(TAGS) $(TESTFLAGS) $(ALL)

lin: servers ## record what clients of three instances are told, LIN (60s) for each situation, and look for an order that explains it
	FLAKEPASS_TEST_LIN_TIME=$(LIN) $(WITHSERVERS) -only mysql,redis -- $(GO) test -tags $(TAGS) -count 1 -v -timeout 60m \
		-artifacts -outputdir bin -run '^Test(RecordedHistories|BrokenServerIsFound)$$' ./internal/proof/lineartest

lint: ## check the sums of the dependencies, format, go vet and golangci-lint, which has all checks of staticcheck
	GOWORK=off $(GO) build -modfile="$(CURDIR)/internal/tools/golangci.mod" -o "$(GOLANGCI)" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	$(GO) mod verify
	cd $(PEERS) && GOWORK=off $(GO) mod verify
	$(GO) vet -tags $(TAGS) $(ALL)
	$(GOLANGCI) run --allow-parallel-runners $(ALL)
	cd $(PEERS) && GOWORK=off $(GO) vet ./... && GOWORK=off $(GOLANGCI) run --allow-parallel-runners

# "go mod tidy" reads no go.work, and would look for our own modules on the network.
tidy: ## tidy go.mod and go.sum of every module
	@mkdir -p bin && cp go.mod bin/tidy.mod && cp go.sum bin/tidy.sum
	GOWORK=off $(GO) mod edit $(foreach m,$(PUBLIC),-replace=$(MODULE)/$m=./$m) bin/tidy.mod
	GOWORK=off $(GO) mod tidy -modfile=bin/tidy.mod
	GOWORK=off $(GO) mod edit $(PUBLIC:%=-dropreplace=$(MODULE)/%) bin/tidy.mod
	mv bin/tidy.mod go.mod && mv bin/tidy.sum go.sum
	for m in $(PUBLIC) $(PEERS); do (cd $$m && GOWORK=off $(GO) mod tidy) || exit 1; done

release: ## write VERSION (vX.Y.Z) where the modules name each other; CONTRIBUTING.md says what comes next
	$(GO) mod edit $(PUBLIC:%=-require=$(MODULE)/%@$(VERSION))
	sed -i -E 's|^(replace $(MODULE)/[a-z]+) v[^ ]+|\1 $(VERSION)|' go.work

fmt: ## format every Go file
	gofmt -s -w .

bench: ## compare with the plainest thing that does the same work (docs/performance.md); BENCH=regexp chooses
	$(GO) test -tags $(TAGS) -run '^$$' -bench '$(BENCH)' -timeout 15m ./internal/proof/bench

peers: ## compare idworker with other ID generators, in about six minutes (docs/performance.md); PEERSFLAGS=-help says more
	@mkdir -p bin
	cd $(PEERS) && GOWORK=off $(GO) build -o "$(CURDIR)/bin/peers" .
	bin/peers $(PEERSFLAGS)

scale: servers ## build 1 and then 10 million users in a MySQL of its own and measure (docs/performance.md); SCALE=n,n chooses
	FLAKEPASS_SCALE_USERS=$(SCALE) $(WITHSERVERS) -only mysql -durable -- \
		$(GO) test -tags $(TAGS) -v -count 1 -run '^TestScale$$' -timeout 2h ./internal/proof/scale

fuzz: ## fuzz every target for FUZZTIME (10m), several at a time; FUZZ=regexp chooses; inputs are kept in the cache of the tests
	$(GO) build -o bin/fuzzall ./internal/proof/fuzzall
	bin/fuzzall -tags $(TAGS) -time $(FUZZTIME) -only '$(FUZZ)' -corpus "$(TESTCACHE)/fuzz"

stats: ## count lines, files, functions, interfaces, the ways of two requests and what importers take on, and write it into ARCHITECTURE.md
	$(GO) run -tags $(TAGS) ./internal/proof/stats -update

install-servers: ## install the servers that the tests need (Debian; as root or with sudo)
	sh internal/proof/testenv/install.sh

clean: ## remove what the other targets made in this folder
	rm -rf bin flakepass-data

servers: install-servers
	$(GO) build -o $(WITHSERVERS) ./internal/proof/testenv/withservers
	@mkdir -p "$(TESTCACHE)/bin"
	CGO_ENABLED=0 GOWORK=off $(GO) build -modfile="$(CURDIR)/internal/tools/caddy.mod" -o "$(TESTCACHE)/bin/caddy" github.com/caddyserver/caddy/v2/cmd/caddy

.PHONY: help run build sbom licences vuln test fresh race promise chaos campaign attack mutants dup sim model test-quick lin lint tidy release fmt bench peers scale fuzz stats install-servers clean servers
