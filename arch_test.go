package flakepass_test

import "testing"

// An arrow says which packages of ours a package may import, and why no
// others. Folders are separated by spaces; "." is the public package.
type arrow struct{ from, to, why string }

var arrows = []arrow{
	{".", "idworker internal/problem", "other services import it, so it brings nothing but the standard library"},
	{"api", "", "the contract is data"},
	{"api/client", ". idworker", "others import it to call a server, so it brings nothing but the standard library"},
	{"migrations", "", "the schema knows no Go type"},
	{"cmd/flakepass", anything, "it puts everything together"},
	{"cmd/example-api", ".", "it shows what a service of others needs"},

	{"idworker", "", "other services import it, so it brings nothing but the standard library"},
	{"idworker/redisworker", "idworker", "a lender of numbers knows numbers only"},
	{"idworker/fileworker", "idworker idworker/internal/durable", "a lender of numbers knows numbers only"},
	{"idworker/sqlworker", "idworker", "a lender of numbers knows numbers only"},
	{"idworker/zkworker", "idworker idworker/internal/durable", "a lender of numbers knows numbers only"},
	{"idworker/internal/durable", "", "it keeps bytes"},

	{"internal/limit", "", "how much strangers may try is a value"},
	{"internal/policy", "internal/limit", "when a login is over is a pure question; the limits are in the same document"},
	{"internal/problem", "", "the public package imports it, so it brings nothing but the standard library"},
	{"internal/session", ". idworker internal/policy", "the domain knows no store, no tier and no router"},
	{"internal/activity", "", "a count knows no store and no door"},
	{"internal/fleet", "", "what an instance says of itself knows no store and no door"},
	{"internal/audit", "idworker", "an event knows no store and no door"},
	{"internal/admin", ". idworker internal/account internal/audit internal/limit internal/policy internal/session", "what an operator can do, whichever door it comes through; it knows no store and no router"},
	{"internal/account", "idworker internal/account/internal/cheap", "the domain knows no store, no session and no router"},
	{"internal/account/internal/cheap", "", "it is one switch"},
	{"internal/hashproc", "internal/account", "it computes what account asks for, elsewhere, and decides nothing"},
	{"internal/login", "idworker internal/account internal/secondfactor internal/session", "a login joins the three, and knows no store and no router"},
	{"internal/secondfactor", "idworker internal/account internal/audit", "the domain knows no store, no login and no router"},

	{"internal/session/broadcast", "idworker internal/policy internal/session", "it carries word from whatever is heard here to whoever follows"},
	{"internal/session/feed", "idworker internal/policy internal/session", "it carries word from whatever is polled, the policy too, to whoever listens"},
	{"internal/session/gatetier", "idworker internal/session", "a tier knows the next one only as session.Rows"},
	{"internal/session/memtier", "idworker internal/session", "a tier knows the next one only as a session.Store"},
	{"internal/session/redistier", "idworker internal/session", "a tier knows the next one only as a session.Store"},
	{"internal/session/touchtier", "idworker internal/policy internal/session", "a tier knows the next one only as a session.Store"},
	{"internal/throttle", "idworker internal/limit", "what strangers may try is counted wherever it is kept"},
	{"internal/throttle/memlimit", "internal/limit internal/throttle", "a store of buckets knows what a bucket is"},
	{"internal/throttle/redislimit", "internal/limit internal/throttle", "a store of buckets knows what a bucket is"},
	{"internal/gormstore", "idworker internal/account internal/activity internal/audit internal/limit internal/fleet internal/policy internal/secondfactor internal/session internal/sweep internal/throttle migrations", "the last tier knows what it keeps and nothing above it"},
	{"internal/firstadmin", "internal/account migrations", "it is one statement more than a store of accounts has, and knows no store"},
	{"internal/sweep", "idworker internal/audit internal/policy", "the sweep names the methods it needs, and knows no store"},

	{"internal/httpapi", ". idworker internal/account internal/admin internal/audit internal/clientaddr internal/limit internal/fleet internal/policy internal/problem internal/secondfactor internal/session internal/sweep internal/throttle", "the edge speaks to the domain, never to a store or a tier"},
	{"internal/adminui", ". idworker internal/account internal/activity internal/admin internal/audit internal/limit internal/fleet internal/clientaddr internal/login internal/policy internal/secondfactor internal/session internal/throttle", "the edge speaks to the domain, never to a store or a tier"},
	{"internal/breached", "", "a file of hashes, whoever asks about them"},
	{"internal/connlimit", "", "a connection is one whoever opens it"},
	{"internal/clientaddr", "", "who is connected is a question about one request"},
	{"internal/keypair", "", "a certificate and its key, whoever shows them"},
	{"internal/config", "", "only cmd knows every setting; a setting reaches a package as a parameter"},
	{"internal/telemetry", "", "only cmd knows where numbers and lines go"},
}

// support is the packages that exist for tests. Only tests, and each other,
// may import them; they may import what they test.
var support = []string{
	"api/apitest",
	"idworker/idworkertest",
	"internal/account/accounttest",
	"internal/attack",
	"internal/bench",
	"internal/lincheck",
	"internal/scale",
	"internal/campaign",
	"internal/campaign/judge",
	"internal/chaos",
	"internal/dup",
	"internal/fuzzall",
	"internal/interop",
	"internal/dup/ledger",
	"internal/mutant",
	"internal/proxies",
	"internal/session/sessiontest",
	"internal/session/model",
	"internal/session/simulation",
	"internal/supply",
	"internal/testenv",
	"internal/throttle/throttletest",
	"internal/testenv/faultproxy",
	"internal/testenv/migrated",
	"internal/testenv/server",
	"internal/testenv/withservers",
}

// A home says which packages may import a dependency, and why no others. The
// one that constructs everything, cmd/flakepass, may as well; so may tests.
type home struct{ dep, homes, why string }

var homes = []home{
	{"github.com/alecthomas/kong", "cmd/flakepass", "only the command knows its line"},
	{"github.com/alexedwards/argon2id", "internal/account", "only account knows how a password is hashed"},
	{"github.com/anishathalye/porcupine", onlyTests, "it judges recorded histories"},
	{"github.com/boombuler/barcode", "internal/secondfactor", "only the second factor is handed over as a picture"},
	{"github.com/chromedp", onlyTests, "it drives a real Chromium over the console"},
	{"github.com/getkin/kin-openapi", onlyTests, "the contract is checked by tests, not while serving"},
	{"github.com/gin-gonic/gin", "internal/httpapi", "only the edge knows the router"},
	{"github.com/go-json-experiment/json", "internal/httpapi", "only the edge reads JSON that a stranger wrote"},
	{"github.com/go-sql-driver/mysql", "internal/gormstore", "only the last tier knows SQL"},
	{"github.com/go-zookeeper/zk", "idworker/zkworker", "only the lender that uses it knows ZooKeeper"},
	{"github.com/goccy/go-yaml", "internal/config", "only the configuration is YAML"},
	{"github.com/aclements/go-moremath", onlyTests, "its test of Mann and Whitney says whether the time of a refusal tells anything"},
	{"github.com/golang-jwt/jwt/v5", onlyTests, "it is what others do, to measure against"},
	{"github.com/google/go-cmp", onlyTests, "it panics on what it does not know"},
	{"github.com/libtnb/sqlite", "internal/gormstore", "only the last tier knows SQL"},
	{"github.com/maypok86/otter/v2", "internal/session/memtier", "only the memory tier keeps a cache"},
	{"github.com/pquerna/otp", "internal/secondfactor", "only the second factor computes codes"},
	{"github.com/pressly/goose/v3", "migrations", "only migrations change the schema"},
	{"github.com/prometheus/client_golang", "internal/telemetry", "packages name a Recorder of their own; only telemetry knows what counts"},
	{"github.com/redis/go-redis/v9", "idworker/redisworker internal/session/redistier internal/throttle/redislimit", "only what instances share knows Redis"},
	{"github.com/robfig/cron/v3", "internal/sweep", "only the sweep has a schedule"},
	{"github.com/rogpeppe/go-internal", onlyTests, "scripts drive the command as a person would"},
	{"github.com/sony/gobreaker/v2", "internal/session/redistier internal/throttle/redislimit", "only what instances share must do without its server"},
	{"go.uber.org/goleak", onlyTests, "it finds goroutines left behind"},
	{"golang.org/x/crypto", "internal/account", "only account knows how a password is hashed"},
	{"golang.org/x/net", onlyTests, "it speaks HTTP/2 frame by frame"},
	{"golang.org/x/sync", onlyTests, "it runs fuzz targets at the same time"},
	{"golang.org/x/term", "cmd/flakepass", "only the command speaks to a terminal"},
	{"golang.org/x/text", "internal/account", "only account knows which names are the same"},
	{"pgregory.net/rapid", onlyTests, "it looks for counterexamples to properties"},
	{"modernc.org/sqlite", onlyTests, "gormstore has its own dialect of it; only tests open a file directly"},
	{"gorm.io", "internal/gormstore", "only the last tier knows SQL"},
}

// TestArrowsPointInward holds the whole module to the tables above. A package
// or a dependency that they do not know fails, and so does a line about one
// that is gone.
func TestArrowsPointInward(t *testing.T) {
	for _, v := range violations(readModule(t, "."), arrows, support, homes) {
		t.Error(v)
	}
}
