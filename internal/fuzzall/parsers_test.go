package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parsers is everything that takes apart what comes from outside, and the
// targets that fuzz it; or, after a dash, why none does. A function is named by
// its folder, its receiver if it has one, and its name.
var parsers = map[string]string{
	"..ParseToken":      "..FuzzParseToken",
	"..parseBase62":     "..FuzzParseToken",
	"..Credential":      "..FuzzCredential",
	"..claimsOf":        "..FuzzForwarded",
	"..claims.identity": "..FuzzForwarded",
	"..readAnswer":      "..FuzzRemoteAnswer",
	"..event.read":      "..FuzzRemoteStream",

	"api/client.readProblem":            "api/client.FuzzProblem",
	"api/client.decode":                 "api/client.FuzzAnswers",
	"api/client.token.UnmarshalJSON":    "api/client.FuzzAnswers",
	"api/client.read":                   "- it makes a request",
	"api/client.Instance.UnmarshalJSON": "api/client.FuzzInstance",

	"api/client.Secret.UnmarshalText":    "- it keeps a text as it is",
	"api/client.wireReset.UnmarshalJSON": "api/client.FuzzAnswers",

	"cmd/flakepass.readDevice":                "- it reads a file that only this program writes, and sends on a text of it as it is",
	"internal/throttle.ParseDeviceCredential": "internal/throttle.FuzzParseDeviceCredential",
	"cmd/flakepass.readTarget":                "- it reads a file for parseTarget",
	"cmd/flakepass.parseTarget":               "cmd/flakepass.FuzzTarget",
	"cmd/flakepass.span.UnmarshalText":        "cmd/flakepass.FuzzSpan",
	"cmd/flakepass.instant.UnmarshalText":     "- whoever starts the command types it, and it is one call of time.Parse for each form",
	"cmd/flakepass.epoch.UnmarshalText":       "cmd/flakepass.FuzzEpoch",

	"cmd/flakepass.limitChange.UnmarshalText": "cmd/flakepass.FuzzLimitChange",
	"cmd/flakepass.readRule":                  "cmd/flakepass.FuzzLimitChange",
	"cmd/flakepass.readKey":                   "- it reads a file that only this program writes, and encoding/hex takes it apart",

	"idworker.ParseID":                    "idworker.FuzzParseID",
	"idworker.parse":                      "idworker.FuzzParseID",
	"idworker.ID.UnmarshalText":           "idworker.FuzzParseID",
	"idworker.Worker.read":                "- it reads a clock",
	"idworker.Layout.Decompose":           "idworker.FuzzLayoutTakesApartAndPutsTogether",
	"idworker/fileworker.parseRecord":     "idworker/fileworker.FuzzParseRecord",
	"idworker/fileworker.read":            "- it reads two copies for parseRecord",
	"idworker/internal/durable.File.Read": "- it hands on bytes as they are",
	"idworker/redisworker.parse":          "idworker/redisworker.FuzzParse",
	"idworker/redisworker.answerOf":       "idworker/redisworker.FuzzField",
	"idworker/zkworker.parseNode":         "idworker/zkworker.FuzzParseNode",
	"idworker/zkworker.parseReserve":      "idworker/zkworker.FuzzParseReserve",

	"internal/account.ParseRole":         "- it compares with three words",
	"internal/account.decode":            "internal/account.FuzzVerify",
	"internal/account.NormalizeUsername": "internal/account.FuzzNormalizeUsername",
	"internal/account.NormalizePrefix":   "internal/account.FuzzPrefix",
	"internal/account.NewPassword":       "internal/account.FuzzNewPassword",

	"internal/adminui.visit.readLife": "- it is one call of strconv.Atoi between two bounds",

	"internal/account.ParseResetToken": "internal/account.FuzzParseResetToken",
	"internal/breached.ordered.read":   "internal/breached.FuzzList",
	"internal/breached.parseLine":      "internal/breached.FuzzList",
	"internal/clientaddr.parse":        "internal/clientaddr.FuzzAppendedAddressCounts",

	"internal/adminui.figures.read": "- it reads what is in memory",
	"internal/adminui.UI.address":   "internal/adminui.FuzzAddress",
	"internal/adminui.language":     "internal/adminui.FuzzLanguage",
	"internal/adminui.safePath":     "internal/adminui.FuzzSafePath",
	"internal/adminui.readForm":     "internal/adminui.FuzzForm",
	"internal/adminui.readSetup":    "internal/adminui.FuzzForm",
	"internal/adminui.readSpan":     "internal/adminui.FuzzSpan",
	"internal/adminui.readDial":     "internal/adminui.FuzzTyped",
	"internal/adminui.readAudit":    "internal/adminui.FuzzTyped",
	"internal/adminui.readLimits":   "internal/adminui.FuzzLimits",
	"internal/adminui.readNote":     "internal/adminui.FuzzLimits",
	"internal/adminui.readVersion":  "internal/adminui.FuzzLimits",
	"internal/adminui.parsePages":   "- the templates are in the program",

	"internal/config.parseFile":             "internal/config.FuzzFile",
	"internal/config.parseTokens":           "internal/config.FuzzFile",
	"internal/config.read":                  "internal/config.FuzzFile",
	"internal/config.loader.readConfigFile": "- it reads a file for parseFile",
	"internal/config.loader.readSecret":     "- it reads a file of the operator's as it is",
	"internal/config.readFile":              "- it reads a file of the operator's as it is",
	"internal/config.parseDatabase":         "internal/config.FuzzURLs",
	"internal/config.parseSQLite":           "internal/config.FuzzURLs",
	"internal/config.parseMySQL":            "internal/config.FuzzURLs",
	"internal/config.ParseRedis":            "internal/config.FuzzURLs",
	"internal/config.parseRedisSetting":     "internal/config.FuzzURLs",
	"internal/config.Redis.parseQuery":      "internal/config.FuzzURLs",
	"internal/config.Redis.parsePath":       "internal/config.FuzzURLs",
	"internal/config.ParseZooKeeper":        "internal/config.FuzzURLs",
	"internal/config.parseWorker":           "internal/config.FuzzURLs",
	"internal/config.parseReplicas":         "internal/config.FuzzURLs",
	"internal/config.parsePublicURL":        "internal/config.FuzzURLs",
	"internal/config.parseSecondFactorKeys": "internal/config.FuzzURLs",
	"internal/config.parseRetention":        "- the operator sets it, and time.ParseDuration takes it apart",
	"internal/config.parseListen":           "- the operator sets it, and net.SplitHostPort takes it apart",
	"internal/config.parsePath":             "- the operator sets it, and it is kept as it is",
	"internal/config.parseSwitch":           "- it compares with two words",
	"internal/config.parseLevel":            "- it compares with four words",
	"internal/config.parseHeader":           "- the operator sets it, and it is compared with a list",
	"internal/config.parseForwardKey":       "- the operator sets it, and its length is checked",
	"internal/config.parseProxies":          "- the operator sets it, and net/netip takes it apart",
	"internal/config.parseProxy":            "- the operator sets it, and net/netip takes it apart",

	"internal/limit.Decode":            "internal/limit.FuzzDecode",
	"internal/gormstore.Sessions.Read": "- it reads a row of the database",

	"internal/gormstore.readLimits":  "- it hands on bytes to limit.Decode",
	"internal/gormstore.MySQLSource": "internal/gormstore.FuzzMySQLSource",

	"internal/httpapi.read":                "internal/httpapi.FuzzBody",
	"internal/httpapi.given.UnmarshalJSON": "internal/httpapi.FuzzBody",
	"internal/httpapi.text.UnmarshalJSON":  "internal/httpapi.FuzzBody",

	"internal/httpapi.limitsJSON.UnmarshalJSON": "- encoding/json reads it into the limit.Doc of limit.Decode, for admins only",

	"internal/httpapi.tokenOf":           "internal/httpapi.FuzzForm",
	"internal/httpapi.conditionOf":       "internal/httpapi.FuzzCondition",
	"internal/httpapi.requestID":         "internal/httpapi.FuzzRequestID",
	"internal/httpapi.query":             "internal/httpapi.FuzzQuery internal/httpapi.FuzzAuditQuery",
	"internal/httpapi.bindVerifications": "internal/httpapi.FuzzVerifications",
	"internal/httpapi.server.readyz":     "- it takes nothing",

	"internal/keypair.Pair.read": "- it reads files of the operator's for crypto/tls",
	"internal/keypair.readFile":  "- it reads files of the operator's for crypto/tls",

	"internal/session/broadcast.Hub.read":     "- it reads a list in memory",
	"internal/connlimit.conn.Read":            "- it hands on bytes as they are",
	"internal/session/redistier.parsePolicy":  "internal/session/redistier.FuzzParsePolicy",
	"internal/session/redistier.codec.decode": "internal/session/redistier.FuzzDecode internal/session/redistier.FuzzDecodeSigned",
	"internal/sweep.ParseSchedule":            "internal/sweep.FuzzParseSchedule",
	"migrations.runner.read":                  "- it reads a table that only this program writes",
	"migrations.record.read":                  "- it reads a table that only this program writes",
}

// others are targets that look for something else than how input is taken apart.
var others = map[string]string{
	"internal/secondfactor.FuzzNewCode":  "whatever somebody types as a code is a code or none",
	"internal/secondfactor.FuzzRedeem":   "no text is a code that was not given",
	"internal/lincheck.FuzzCheck":        "a quick judge of histories is compared with a slow one",
	"internal/audit.FuzzSpreadsheetText": "no text in an export begins a formula",
}

var (
	readerName = regexp.MustCompile(`^([pP]arse|[uU]nmarshal|[dD]ecode|[rR]ead)([A-Z].*|)$`)
	// What only tests run takes nothing from outside.
	notServed = regexp.MustCompile(`^(api/apitest|idworker/internal/peers|internal/(testenv|mutant|dup|fuzzall|bench|scale|campaign|chaos|lincheck|proxies|interop|supply))(/|$)`)
)

// functions lists the functions of the module by folder, receiver and name.
func functions(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		folder := path.Dir(below)
		switch base := entry.Name(); {
		case entry.IsDir() && below != "." && (base == "testdata" || base[0] == '.' || notServed.MatchString(below)):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all[folder+"."+receiver(f)+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if g, ok := of.(*ast.IndexExpr); ok {
		of = g.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// TestEveryParserIsFuzzed: whatever is named like a parser is in the table, the
// table names nothing that is gone, and each target is there for something.
func TestEveryParserIsFuzzed(t *testing.T) {
	root := filepath.Join("..", "..")
	all := functions(t, root)
	if len(all) < 500 {
		t.Fatalf("%d functions found: that is not the whole module", len(all))
	}
	targets, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	unused := make(map[string]bool)
	for _, target := range targets {
		unused[target.String()] = true
	}
	exists := maps.Clone(unused)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		last := name[strings.LastIndex(name, ".")+1:]
		if readerName.MatchString(last) && parsers[name] == "" {
			t.Errorf("%s reads something: fuzz it and say so in this table, or say why not", name)
		}
	}
	for name, by := range parsers {
		if !all[name] {
			t.Errorf("the table names %s, which does not exist", name)
		}
		if strings.HasPrefix(by, "- ") {
			continue
		}
		for target := range strings.FieldsSeq(by) {
			if !exists[target] {
				t.Errorf("%s is fuzzed by %s, which does not exist", name, target)
			}
			delete(unused, target)
		}
	}
	for target := range others {
		if !exists[target] {
			t.Errorf("the table names %s, which does not exist", target)
		}
		delete(unused, target)
	}
	for target := range unused {
		t.Errorf("%s fuzzes something that the table does not name", target)
	}
}
