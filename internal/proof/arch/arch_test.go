package arch_test

import (
	"os"
	"testing"
)

// TestMain runs the tests in the root of the module, which they read.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// An arrow says which packages of ours a package may import, and why no
// others. Folders are separated by spaces; "." is the public package.
type arrow struct{ from, to, why string }

var arrows = []arrow{
	{"api/flakepass", "api/internal/baseurl api/internal/pause api/problem api/wire", "other services import it, so it brings nothing but the standard library"},
	{"api", "", "the contract is data"},
	{"api/internal/baseurl", "", "it takes a text apart"},
	{"api/internal/pause", "", "it waits"},
	{"api/wire", "", "the documents of the contract are values"},
	{"api/client", "api/flakepass api/internal/baseurl api/internal/pause api/wire", "others import it to call a server, so it brings nothing but the standard library"},
	{"migrations", "", "the schema knows no Go type"},
	{"cmd/flakepass", "internal/edge/cli", "it calls the command line"},
	{"internal/edge/cli", "api/wire internal/edge/render internal/domain/invalid api/client api/flakepass idworker internal/domain/account internal/domain/operator internal/domain/audit internal/domain/limit internal/domain/policy internal/domain/secondfactor internal/domain/duration internal/domain/session internal/domain/sweep internal/server/config internal/server/hashproc internal/server/release internal/server/run internal/server/telemetry internal/store/sqlstore internal/store/redisstore migrations internal/domain/servicekey", "a command opens what the server opens, and calls the same verbs"},
	{"internal/server/run", anything, "it puts everything together"},
	{"internal/server/release", "", "the version and the licences are what the build wrote"},
	{"cmd/example-api", "api/flakepass", "it shows what a service of others needs"},
	{"cmd/example-sms", "api/client api/flakepass api/wire", "it shows what a service of others needs"},

	{"idworker", "", "other services import it, so it brings nothing but the standard library"},
	{"idworker/redisworker", "idworker idworker/internal/lend", "a lender of numbers knows numbers only"},
	{"idworker/fileworker", "idworker idworker/internal/durable idworker/internal/lend", "a lender of numbers knows numbers only"},
	{"idworker/sqlworker", "idworker idworker/internal/lend", "a lender of numbers knows numbers only"},
	{"idworker/zkworker", "idworker idworker/internal/durable idworker/internal/lend", "a lender of numbers knows numbers only"},
	{"idworker/internal/durable", "", "it keeps bytes"},
	{"idworker/internal/lend", "", "it is below the lenders"},

	{"internal/domain/invalid", "", "what is wrong with an input is a value"},
	{"internal/domain/hidden", "", "what cannot print itself is a text, whatever it is for"},
	{"internal/domain/limit", "api/wire", "how much strangers may try is a value"},
	{"internal/domain/policy", "api/wire internal/domain/duration internal/domain/invalid internal/domain/limit", "when a login is over is a pure question; the limits are in the same document"},
	{"api/problem", "api/wire", "the public package imports it, so it brings nothing but the standard library"},
	{"internal/domain/session", "internal/domain/invalid api/flakepass idworker internal/domain/audit internal/domain/policy", "the domain knows no store, no tier and no router"},
	{"internal/domain/servicekey", "internal/domain/invalid internal/domain/session api/flakepass idworker", "a key is hashed as a token is, and believed by the same ages; it knows no store and no router"},
	{"internal/domain/activity", "", "a count knows no store and no edge"},
	{"internal/domain/fleet", "", "what an instance says of itself knows no store and no edge"},
	{"internal/domain/audit", "api/wire idworker internal/domain/invalid", "an event knows no store and no edge"},
	{"internal/domain/operator", "api/wire internal/domain/invalid api/flakepass idworker internal/domain/account internal/domain/audit internal/domain/limit internal/domain/policy internal/domain/session internal/domain/servicekey", "what an operator can do, whichever door it comes through; it knows no store and no router"},
	{"internal/domain/account/foreignhash", "", "a hash of another system is a text and a password; it knows no account"},
	{"internal/domain/account", "internal/domain/account/foreignhash internal/domain/hidden internal/domain/invalid idworker", "the domain knows no store, no session and no router"},
	{"internal/server/hashproc", "internal/domain/account", "it computes what account asks for, elsewhere, and decides nothing"},
	{"internal/server/importhook", "internal/domain/account", "it asks another system what account asks for, and decides nothing"},
	{"internal/domain/login", "internal/domain/invalid api/flakepass idworker internal/domain/account internal/domain/activity internal/domain/audit internal/domain/secondfactor internal/domain/session internal/domain/ratelimit", "what people do with their own accounts, with its limits, its record and its counts, whichever way it comes in; it knows no store and no router"},
	{"internal/domain/secondfactor", "idworker internal/domain/account internal/domain/audit internal/domain/hidden", "the domain knows no store, no login and no router"},

	{"internal/store/broadcast", "idworker internal/domain/policy internal/domain/session", "it passes what arrives here on to those that follow"},
	{"internal/store/feed", "idworker internal/domain/policy internal/domain/session", "it passes what was polled, the policy too, on to those that listen"},
	{"internal/store/layer", "idworker internal/domain/policy internal/domain/session internal/domain/servicekey", "a layer knows the next one only as a session.Store or session.Rows"},
	{"internal/store/memstore", "idworker internal/domain/limit internal/domain/ratelimit internal/domain/session", "it knows the next tier only as a session.Store, and what a bucket is"},
	{"internal/store/redisstore", "idworker internal/domain/fleet internal/domain/limit internal/domain/ratelimit internal/domain/session", "it knows the next tier only as a session.Store, and what a bucket is"},
	{"internal/domain/ratelimit", "idworker internal/domain/hidden internal/domain/limit", "what strangers may try is counted wherever it is kept"},
	{"internal/store/sqlstore", "idworker internal/domain/account internal/domain/activity internal/domain/audit internal/domain/limit internal/domain/fleet internal/domain/policy internal/domain/secondfactor internal/domain/session internal/domain/sweep internal/domain/ratelimit migrations internal/domain/servicekey", "the last tier knows what it keeps and nothing above it"},
	{"internal/domain/duration", "", "a length of time is written in one way everywhere; it needs nothing"},
	{"internal/domain/sweep", "idworker internal/domain/audit internal/domain/policy", "the sweep names the methods it needs, and knows no store"},

	{"internal/edge/httpapi", "api/wire internal/edge/render internal/edge/verb internal/domain/invalid api/flakepass idworker internal/domain/account internal/domain/operator internal/domain/audit internal/edge/clientaddr internal/edge/requestid internal/domain/limit internal/domain/fleet internal/domain/login internal/domain/policy api/problem internal/domain/secondfactor internal/domain/session internal/domain/sweep internal/domain/ratelimit internal/domain/servicekey", "the edge speaks to the domain, never to a store or a tier"},
	{"internal/edge/console", "api/wire internal/edge/render internal/edge/verb internal/domain/hidden internal/domain/invalid api/flakepass idworker internal/domain/account internal/domain/activity internal/domain/operator internal/domain/audit internal/domain/duration internal/domain/limit internal/domain/fleet internal/edge/clientaddr internal/edge/requestid internal/domain/login internal/domain/policy internal/domain/secondfactor internal/domain/session internal/domain/sweep internal/domain/ratelimit internal/domain/servicekey", "the edge speaks to the domain, never to a store or a tier"},
	{"internal/store/breached", "", "a file of hashes, for any caller"},
	{"internal/server/connlimit", "", "it counts connections of any kind"},
	{"internal/edge/requestid", "api/flakepass", "the name of a request is a text in a context, which has room for who sent it"},
	{"internal/edge/render", "api/wire idworker internal/domain/account internal/domain/audit internal/domain/fleet internal/domain/operator internal/domain/policy internal/domain/session internal/domain/sweep internal/domain/servicekey", "it makes documents of what the domain knows, for every edge"},
	{"internal/edge/verb", "idworker internal/domain/account internal/domain/audit internal/domain/fleet internal/domain/operator internal/domain/policy internal/domain/secondfactor internal/domain/servicekey internal/domain/session", "what an operator does is the same through the API and the console"},
	{"internal/edge/clientaddr", "", "who is connected is a question about one request"},
	{"internal/server/keypair", "", "a certificate and its key, for any use"},
	{"internal/server/config", "internal/domain/duration internal/domain/hidden", "only cmd knows every setting; a setting reaches a package as a parameter"},
	{"internal/server/telemetry", "idworker", "only cmd knows where numbers and lines go; what a worker says of itself is shown as it is"},
}

// support is the packages that exist for tests. Only tests, and each other,
// may import them; they may import what they test.
var support = []string{
	"internal/proof/apitest",
	"idworker/idworkertest",
	"internal/proof/accounttest",
	"internal/proof/arch",
	"internal/proof/attack",
	"internal/proof/bench",
	"internal/proof/lifecycletest",
	"internal/proof/lincheck",
	"internal/proof/lineartest",
	"internal/proof/measure",
	"internal/proof/scale",
	"internal/proof/campaign",
	"internal/proof/campaign/judge",
	"internal/proof/chaos",
	"internal/proof/cluster",
	"internal/proof/commandtest",
	"internal/proof/consoletest",
	"internal/proof/deploytest",
	"internal/proof/dup",
	"internal/proof/e2e",
	"internal/proof/fuzzall",
	"internal/proof/interop",
	"internal/proof/dup/ledger",
	"internal/proof/mutant",
	"internal/proof/proxies",
	"internal/proof/publish",
	"internal/proof/redisworkertest",
	"internal/proof/remote",
	"internal/proof/sessiontest",
	"internal/proof/model",
	"internal/proof/simulation",
	"internal/proof/sqlworkertest",
	"internal/proof/stats",
	"internal/proof/supply",
	"internal/proof/testenv",
	"internal/proof/ratelimittest",
	"internal/proof/testenv/faultproxy",
	"internal/proof/testenv/migrated",
	"internal/proof/testenv/server",
	"internal/proof/testenv/withservers",
	"internal/proof/zkworkertest",
}

// A home says which packages may import a dependency, and why no others. The
// one that constructs everything, internal/server/run, may as well; so may tests.
type home struct{ dep, homes, why string }

var homes = []home{
	{"github.com/alecthomas/kong", "internal/edge/cli", "only the command knows its line"},
	{"github.com/alexedwards/argon2id", "internal/domain/account", "only account knows how a password is hashed"},
	{"github.com/anishathalye/porcupine", onlyTests, "it judges recorded histories"},
	{"github.com/boombuler/barcode", "internal/domain/secondfactor", "only the second factor is handed over as a picture"},
	{"github.com/chromedp", onlyTests, "it drives a real Chromium over the console"},
	{"github.com/getkin/kin-openapi", onlyTests, "the contract is checked by tests, not while serving"},
	{"github.com/gin-gonic/gin", "internal/edge/httpapi", "only the edge knows the router"},
	{"github.com/go-json-experiment/json", "internal/edge/httpapi internal/edge/cli internal/server/importhook", "JSON that a stranger wrote, an import's or a hook's too, is read strictly: in one case, and each name once"},
	{"github.com/go-sql-driver/mysql", "internal/store/sqlstore internal/server/run migrations", "only the last tier, and the migrations below it, know SQL"},
	{"github.com/go-zookeeper/zk", "idworker/zkworker", "only the lender that uses it knows ZooKeeper"},
	{"github.com/goccy/go-yaml", "internal/server/config", "only the configuration is YAML"},
	{"github.com/aclements/go-moremath", onlyTests, "its test of Mann and Whitney says whether the time of a refusal reveals anything"},
	{"github.com/golang-jwt/jwt/v5", onlyTests, "it is what others do, to measure against"},
	{"github.com/google/go-cmp", onlyTests, "it panics on what it does not know"},
	{"github.com/libtnb/sqlite", "internal/store/sqlstore", "only the last tier knows SQL"},
	{"github.com/maypok86/otter/v2", "internal/store/memstore", "only memory keeps a cache"},
	{"github.com/pquerna/otp", "internal/domain/secondfactor", "only the second factor computes codes"},
	{"github.com/pressly/goose/v3", "migrations", "only migrations change the schema"},
	{"github.com/prometheus/client_golang", "internal/server/telemetry", "packages name a Recorder of their own; only telemetry knows what counts"},
	{"github.com/redis/go-redis/v9", "idworker/redisworker internal/server/run internal/store/redisstore", "only what instances share knows Redis, and what opens it"},
	{"github.com/robfig/cron/v3", "internal/domain/sweep", "only the sweep has a schedule"},
	{"github.com/rogpeppe/go-internal", onlyTests, "scripts drive the command as a person would"},
	{"github.com/sony/gobreaker/v2", "internal/server/importhook", "only what asks a server that it must do without leaves it alone: the system that people come from"},
	{"go.uber.org/goleak", onlyTests, "it finds goroutines left behind"},
	{"golang.org/x/crypto", "internal/domain/account internal/domain/account/foreignhash", "only account knows how a password is hashed"},
	{"golang.org/x/net", onlyTests, "it speaks HTTP/2 frame by frame"},
	{"golang.org/x/sync", onlyTests, "it runs fuzz targets at the same time"},
	{"golang.org/x/term", "internal/edge/cli", "only the command speaks to a terminal"},
	{"golang.org/x/text", "internal/domain/account internal/domain/session internal/edge/console", "account knows which names are the same, session how the name of a device is kept, and the console what language a browser asks for"},
	{"pgregory.net/rapid", onlyTests, "it looks for counterexamples to properties"},
	{"modernc.org/sqlite", onlyTests, "sqlstore has its own dialect of it; only tests open a file directly"},
	{"gorm.io", "internal/store/sqlstore", "only the last tier knows SQL"},
}

// TestArrowsPointInward holds the whole module to the tables above. A package
// or a dependency that they do not know fails, and so does a line about one
// that is gone.
func TestArrowsPointInward(t *testing.T) {
	for _, v := range violations(readModule(t, "."), arrows, support, homes) {
		t.Error(v)
	}
}
