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
	"api/flakepass.ParseToken":                "api/flakepass.FuzzParseToken",
	"api/flakepass.parseBase62":               "api/flakepass.FuzzParseToken",
	"api/flakepass.ParseServiceKey":           "api/flakepass.FuzzParseServiceKey",
	"api/flakepass.Token.UnmarshalText":       "api/flakepass.FuzzParseToken",
	"api/flakepass.ServiceKey.UnmarshalText":  "api/flakepass.FuzzParseServiceKey",
	"api/flakepass.ParseServiceCredential":    "api/flakepass.FuzzParseServiceKey",
	"internal/domain/servicekey.ParseScopes":  "- it compares with two words",
	"internal/domain/servicekey.Service.read": "- it reads a row of the database",
	"api/flakepass.ParseID":                   "- it is wire.ParseID",
	"api/wire.ParseID":                        "api/wire.FuzzParseID",
	"api/wire.ID.UnmarshalText":               "api/wire.FuzzParseID",
	"api/wire.Seconds.UnmarshalJSON":          "api/wire.FuzzPolicy",
	"api/wire.Millis.UnmarshalJSON":           "api/wire.FuzzInstance",
	"api/wire.Time.UnmarshalJSON":             "api/wire.FuzzParseTime api/wire.FuzzInstance",
	"api/wire.Time.UnmarshalText":             "api/wire.FuzzParseTime",
	"api/wire.ParseTime":                      "api/wire.FuzzParseTime",
	"api/wire.Slot.UnmarshalJSON":             "api/flakepass.FuzzRemoteStream",
	"api/wire.FineMillis.UnmarshalJSON":       "api/wire.FuzzInstance",

	"api/flakepass.Credential":      "api/flakepass.FuzzCredential",
	"api/flakepass.claimsOf":        "api/flakepass.FuzzForwarded",
	"api/flakepass.claims.identity": "api/flakepass.FuzzForwarded",
	"api/flakepass.readAnswer":      "api/flakepass.FuzzRemoteAnswer",
	"api/flakepass.event.read":      "api/flakepass.FuzzRemoteStream",

	"api/internal/baseurl.Parse": "- a developer sets it, and net/url takes it apart",

	"api/client.readProblem":    "api/client.FuzzProblem",
	"api/client.readRetryAfter": "api/client.FuzzRetryAfter",
	"api/client.decode":         "api/client.FuzzAnswers",
	"api/client.read":           "- it makes a request",
	"api/client.readPage":       "api/client.FuzzAnswers",

	"api/client.secret.UnmarshalText":        "- it keeps a text as it is",
	"api/client.PasswordReset.UnmarshalJSON": "api/client.FuzzAnswers",

	"internal/edge/cli.readDevice":                    "- it reads a file that only this program writes, and sends on a text of it as it is",
	"internal/domain/ratelimit.ParseDeviceCredential": "internal/domain/ratelimit.FuzzParseDeviceCredential",
	"internal/edge/cli.readTarget":                    "- it reads a file for parseTarget",
	"internal/edge/cli.parseTarget":                   "internal/edge/cli.FuzzTarget",
	"internal/domain/duration.Parse":                  "internal/domain/duration.FuzzParse",
	"internal/edge/cli.span.UnmarshalText":            "internal/edge/cli.FuzzSpan",
	"internal/edge/cli.instant.UnmarshalText":         "- whoever starts the command types it, and it is one call of a parser for each form",
	"internal/edge/cli.epoch.UnmarshalText":           "internal/edge/cli.FuzzEpoch",

	"internal/edge/cli.limitChange.UnmarshalText":  "internal/edge/cli.FuzzLimitChange",
	"internal/edge/cli.overrideText.UnmarshalText": "- it is one call of policy.ParseOverride",
	"internal/domain/policy.ParseOverride":         "internal/domain/policy.FuzzParseOverride",
	"internal/domain/policy.Policy.DecodeTerms":    "internal/domain/policy.FuzzDecodeTerms",
	"internal/store/sqlstore.settingsRow.read":     "- it hands on bytes to Policy.DecodeTerms",
	"internal/edge/console.readDevices":            "internal/edge/console.FuzzTyped",
	"internal/edge/cli.readRule":                   "internal/edge/cli.FuzzLimitChange",
	"internal/server/importhook.parse":             "internal/server/importhook.FuzzParse",
	"internal/server/importhook.read":              "- it reads an answer for parse",
	"internal/server/run.readKey":                  "- it reads a file that only this program writes, and encoding/hex takes it apart",

	"idworker.ParseID":                    "idworker.FuzzParseID",
	"idworker.parse":                      "idworker.FuzzParseID",
	"idworker.ID.UnmarshalText":           "idworker.FuzzParseID",
	"idworker.Worker.read":                "- it reads a clock",
	"idworker.Layout.Decompose":           "idworker.FuzzLayoutTakesApartAndPutsTogether",
	"idworker/fileworker.parseRecord":     "idworker/fileworker.FuzzParseRecord",
	"idworker/fileworker.read":            "- it reads two copies for parseRecord",
	"idworker/internal/durable.File.Read": "- it hands on bytes as they are",
	"idworker/redisworker.parse":          "idworker/redisworker.FuzzParse",
	"idworker/redisworker.answerOf":       "internal/proof/redisworkertest.FuzzField",
	"idworker/zkworker.parseNode":         "idworker/zkworker.FuzzParseNode",
	"idworker/zkworker.parseReserve":      "idworker/zkworker.FuzzParseReserve",

	"internal/domain/account.ParseRole":        "- it compares with three words",
	"internal/domain/policy.ParseOverLimit":    "- it compares with two words",
	"internal/domain/operator.Users.List":      "internal/domain/operator.FuzzUserCursor",
	"internal/domain/account.decode":           "internal/domain/account.FuzzVerify",
	"internal/domain/account.Hasher.read":      "internal/domain/account.FuzzVerify",
	"internal/domain/account.ReadImportedHash": "- it is foreignhash.ReadImported, or decode for a hash like ours",
	"internal/domain/account.ParseFirebase":    "- it is foreignhash.ParseFirebase",

	"internal/domain/account/foreignhash.Read":               "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.decode":             "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.readArgon2i":        "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.readBcrypt":         "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.readBcryptOfSHA256": "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.readOver":           "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.readPBKDF2":         "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.readScrypt":         "internal/domain/account/foreignhash.FuzzRead",
	"internal/domain/account/foreignhash.ReadImported":       "internal/domain/account/foreignhash.FuzzReadImported",
	"internal/domain/account/foreignhash.ParseFirebase":      "internal/domain/account/foreignhash.FuzzParseFirebase",

	"internal/edge/cli.readCSVHeader":  "internal/edge/cli.FuzzImportLines",
	"internal/edge/cli.readCSVLine":    "internal/edge/cli.FuzzImportLines",
	"internal/edge/cli.readJSONLine":   "internal/edge/cli.FuzzImportLines",
	"internal/edge/cli.readCreated":    "internal/edge/cli.FuzzImportLines",
	"internal/server/run.formats.read": "- it reads a table that only this program writes",

	"internal/domain/account.NormalizeUsername": "internal/domain/account.FuzzNormalizeUsername",
	"internal/domain/account.NormalizeAlias":    "internal/domain/account.FuzzNormalizeAlias",
	"internal/domain/account.NormalizeAliases":  "internal/domain/account.FuzzNormalizeAlias",
	"internal/domain/account.NormalizeLogin":    "internal/domain/account.FuzzNormalizeAlias",
	"internal/domain/account.NormalizePrefix":   "internal/domain/account.FuzzPrefix",
	"internal/domain/account.NewPassword":       "internal/domain/account.FuzzNewPassword",

	"internal/edge/console.request.readLife": "- it is one call of strconv.Atoi between two bounds",

	"internal/domain/account.ParseResetToken": "internal/domain/account.FuzzParseResetToken",
	"internal/store/breached.ordered.read":    "internal/store/breached.FuzzList",
	"internal/store/breached.parseLine":       "internal/store/breached.FuzzList",
	"internal/edge/clientaddr.parse":          "internal/edge/clientaddr.FuzzAppendedAddressCounts",

	"internal/edge/console.figures.read": "- it reads what is in memory",
	"internal/edge/console.readTexts":    "- it reads files that are embedded, and a test reads them all",
	"internal/edge/console.UI.address":   "internal/edge/console.FuzzAddress",
	"internal/edge/console.language":     "internal/edge/console.FuzzLanguage",
	"internal/edge/console.safePath":     "internal/edge/console.FuzzSafePath",
	"internal/edge/console.readForm":     "internal/edge/console.FuzzForm",
	"internal/edge/console.readSetup":    "internal/edge/console.FuzzForm",
	"internal/edge/console.readSpan":     "internal/edge/console.FuzzSpan",
	"internal/edge/console.readDial":     "internal/edge/console.FuzzTyped",
	"internal/edge/console.readAudit":    "internal/edge/console.FuzzTyped",
	"internal/edge/console.readLimits":   "internal/edge/console.FuzzLimits",
	"internal/edge/console.readFields":   "internal/edge/console.FuzzTyped internal/edge/console.FuzzForm",
	"internal/edge/console.readVersion":  "internal/edge/console.FuzzLimits",
	"internal/edge/console.parsePages":   "- the templates are in the program",

	"internal/server/config.parseFile":             "internal/server/config.FuzzFile",
	"internal/server/config.parseDocument":         "internal/server/config.FuzzFile",
	"internal/server/config.read":                  "internal/server/config.FuzzFile",
	"internal/server/config.loader.readConfigFile": "- it reads a file for parseFile",
	"internal/server/config.loader.readSecret":     "- it reads a file of the operator's as it is",
	"internal/server/config.readFile":              "- it reads a file of the operator's as it is",
	"internal/server/config.parseDatabase":         "internal/server/config.FuzzURLs",
	"internal/server/config.parseSQLite":           "internal/server/config.FuzzURLs",
	"internal/server/config.parseMySQL":            "internal/server/config.FuzzURLs",
	"internal/server/config.ParseRedis":            "internal/server/config.FuzzURLs",
	"internal/server/config.Redis.parseQuery":      "internal/server/config.FuzzURLs",
	"internal/server/config.Redis.parsePath":       "internal/server/config.FuzzURLs",
	"internal/server/config.ParseZooKeeper":        "internal/server/config.FuzzURLs",
	"internal/server/config.parseWorker":           "internal/server/config.FuzzURLs",
	"internal/server/config.parseReplicas":         "internal/server/config.FuzzURLs",
	"internal/server/config.parsePublicURL":        "internal/server/config.FuzzURLs",
	"internal/server/config.parseHookURL":          "internal/server/config.FuzzURLs",
	"internal/server/config.parseHookSecret":       "internal/server/config.FuzzURLs",
	"internal/server/config.parseSecondFactorKeys": "internal/server/config.FuzzURLs",
	"internal/server/config.parseRetention":        "- the operator sets it, and time.ParseDuration takes it apart",
	"internal/server/config.readSpan":              "- the operator sets it; duration.Parse and time.ParseDuration take it apart",
	"internal/server/config.parseListen":           "- the operator sets it, and net.SplitHostPort takes it apart",
	"internal/server/config.parsePath":             "- the operator sets it, and it is kept as it is",
	"internal/server/config.parseLevel":            "- it compares with four words",
	"internal/server/config.parseHashWorkers":      "- the operator sets it, and strconv takes it apart",
	"internal/server/config.parseHeader":           "- the operator sets it, and it is compared with a list",
	"internal/server/config.parseForwardKey":       "- the operator sets it, and its length is checked",
	"internal/server/config.parseMethods":          "- the operator sets it, and each is compared with an expression",
	"internal/server/config.parseProxies":          "- the operator sets it, and net/netip takes it apart",
	"internal/server/config.parseProxy":            "- the operator sets it, and net/netip takes it apart",

	"internal/domain/limit.Decode":          "internal/domain/limit.FuzzDecode",
	"internal/store/sqlstore.Sessions.Read": "- it reads a row of the database",

	"internal/store/sqlstore.readLimits":  "- it hands on bytes to limit.Decode",
	"internal/store/sqlstore.MySQLSource": "internal/store/sqlstore.FuzzMySQLSource",
	"internal/store/sqlstore.parseDSN":    "internal/store/sqlstore.FuzzMySQLSource",

	"internal/edge/httpapi.read":          "internal/edge/httpapi.FuzzBody",
	"internal/domain/session.ParseDevice": "internal/domain/session.FuzzParseDevice",

	"internal/edge/httpapi.given.UnmarshalJSON":     "internal/edge/httpapi.FuzzBody",
	"internal/edge/httpapi.described.UnmarshalJSON": "internal/edge/httpapi.FuzzBody",
	"internal/edge/httpapi.text.UnmarshalJSON":      "internal/edge/httpapi.FuzzBody",

	"internal/edge/httpapi.tokenOf":           "internal/edge/httpapi.FuzzForm",
	"internal/edge/httpapi.conditionOf":       "internal/edge/httpapi.FuzzCondition",
	"internal/edge/httpapi.requestID":         "internal/edge/httpapi.FuzzRequestID",
	"internal/edge/httpapi.query":             "internal/edge/httpapi.FuzzQuery internal/edge/httpapi.FuzzAuditQuery",
	"internal/edge/httpapi.readQuery":         "internal/edge/httpapi.FuzzQuery internal/edge/httpapi.FuzzAuditQuery",
	"cmd/example-sms.read":                    "- encoding/json reads it into a struct of texts",
	"internal/edge/httpapi.bindVerifications": "internal/edge/httpapi.FuzzVerifications",
	"internal/edge/httpapi.server.readIssue":  "internal/edge/httpapi.FuzzIssue",
	"internal/edge/httpapi.requestOf":         "internal/edge/httpapi.FuzzRequestName",
	"internal/edge/httpapi.server.readyz":     "- it takes nothing",

	"internal/server/keypair.Pair.read": "- it reads files of the operator's for crypto/tls",
	"internal/server/keypair.ReadFile":  "- it reads files of the operator's for crypto/tls",

	"internal/store/broadcast.Hub.read":            "- it reads a list in memory",
	"internal/server/connlimit.conn.Read":          "- it hands on bytes as they are",
	"internal/store/redisstore.parsePolicy":        "internal/store/redisstore.FuzzParsePolicy",
	"internal/store/redisstore.codec.decode":       "internal/store/redisstore.FuzzDecode internal/store/redisstore.FuzzDecodeSigned",
	"internal/store/redisstore.Sessions.DecodeEnd": "internal/store/redisstore.FuzzDecode internal/store/redisstore.FuzzDecodeSigned",
	"migrations.lease.read":                        "- it reads a table that only this program writes",
	"internal/domain/sweep.ParseSchedule":          "internal/domain/sweep.FuzzParseSchedule",
	"migrations.runner.read":                       "- it reads a table that only this program writes",
	"migrations.record.read":                       "- it reads a table that only this program writes",
}

// others are targets that look for something else than how input is taken apart.
var others = map[string]string{
	"api/wire.FuzzMeIsWhatJSONWrites":           "a name is written as encoding/json writes it",
	"internal/domain/secondfactor.FuzzNewCode":  "whatever somebody types as a code is a code or none",
	"internal/domain/policy.FuzzParseOverride":  "what is read is written so that it is read again",
	"internal/domain/policy.FuzzDecodeTerms":    "what is kept is read again as it was",
	"internal/domain/secondfactor.FuzzRedeem":   "no text is a code that was not given",
	"internal/proof/lincheck.FuzzCheck":         "a quick judge of histories is compared with a slow one",
	"internal/domain/audit.FuzzSpreadsheetText": "no text in an export begins a formula",
}

var (
	readerName = regexp.MustCompile(`^([pP]arse|[uU]nmarshal|[dD]ecode|[rR]ead)([A-Z].*|)$`)
	// What only tests run takes nothing from outside.
	notServed = regexp.MustCompile(`^(idworker/internal/peers|internal/proof)(/|$)`)
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
	root := filepath.Join("..", "..", "..")
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
