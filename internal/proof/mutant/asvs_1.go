package main

import "slices"

const asvsUI, asvsAPI, asvsStore, asvsAttack, asvsCommand, asvsRun = "internal/edge/console", "internal/edge/httpapi", "internal/store/sqlstore", "internal/proof/attack", "internal/edge/cli", "internal/server/run"

// rawPages is a careless edit of what all pages pass through: texts are markup
// again.
const (
	pageMade = "\th := q.w.Header()\n\th.Set(\"Content-Type\", \"text/html"
	rawPages = "\tfor code, sign := range map[string]string{\"&lt;\": \"<\", \"&gt;\": \">\", \"&#34;\": \"\\\"\"} {\n" +
		"\t\tb = *bytes.NewBuffer(bytes.ReplaceAll(b.Bytes(), []byte(code), []byte(sign)))\n\t}\n" + pageMade
)

// asvs1 is encoding and sanitization.
func asvs1() []asvsBreak {
	return slices.Concat(
		breaks("1.1.1", "a path is decoded once more before it is judged", asvsUI+"/cookie.go",
			"\tto, err := url.Parse(p)\n", "\tif again, err := url.PathUnescape(p); err == nil {\n\t\tp = again\n\t}\n\tto, err := url.Parse(p)\n", asvsUI, "FuzzSafePath"),
		breaks("1.1.1", "a query is decoded twice", asvsAPI+"/page.go",
			"\tvalues, err := url.ParseQuery(c.Request.URL.RawQuery)\n",
			"\traw, _ := url.PathUnescape(c.Request.URL.RawQuery)\n\tvalues, err := url.ParseQuery(raw)\n", asvsAPI, "TestQueryIsDecodedOnce"),
		breaks("1.1.2", "a name is encoded when it comes in", asvsUI+"/form.go",
			`username: typed(form, "username")`, `username: strings.ReplaceAll(typed(form, "username"), "<", "&lt;")`, asvsUI, "TestNameCannotBreakOut"),
		breaks("1.2.1", "pages are written as they are", asvsUI+"/request.go", pageMade, rawPages,
			asvsUI, "TestNameCannotBreakOut", "TestPolicyNotesCannotBreakOut", "FuzzForm"),
		breaks("1.2.1", "pages are written as they are", asvsUI+"/request.go", pageMade, rawPages,
			asvsAttack, "TestNothingStoredBecomesMarkup"),
		breaks("1.2.2", "a login leads to any scheme and host", asvsUI+"/cookie.go", `to.Scheme != "" || to.Host != "" || `, "", asvsUI, "FuzzSafePath"),
		breaks("1.2.2", "what is typed is put into a link as it is", asvsUI+"/request.go",
			`return path + "?" + q.Encode()`, "text, _ := url.QueryUnescape(q.Encode())\n\treturn path + \"?\" + text",
			asvsUI, "FuzzTyped"),
		breaks("1.2.2", "a token is sent over http://", asvsCommand+"/remotetarget.go",
			`if u.Scheme == "https" || insecure ||`, `if u.Scheme != "" || insecure ||`, asvsCommand, "TestRemoteRefusesToSendInTheClear"),
		breaks("1.2.3", "a page has data in a script", asvsUI+"/pages/login.html",
			`<input type="hidden" name="next" value="{{.Next}}">`, `<input type="hidden" name="next" value="{{.Next}}"><script>var next = {{.Next}}</script>`,
			asvsUI, "TestPagesKeepTheirOwnPolicy"),
		breaks("1.2.3", "JSON is made by hand", "api/problem/problem.go",
			"\tbody, err := json.Marshal(d)\n", "\t_, err := json.Marshal(d)\n\tbody := []byte(`{\"code\":\"` + d.Code + `\",\"title\":\"` + d.Title + `\",\"detail\":\"` + d.Detail + `\"}`)\n",
			"api/problem", "TestTextsAreEncoded"),
		breaks("1.2.4", "a name is put into the statement", asvsStore+"/users.go",
			`u.by(ctx, "username = ?", username)`, `u.by(ctx, "username = '"+username+"' AND '' <> ?", username)`,
			asvsStore, "TestNoStatementIsStitchedFromWhatACallerGives", "TestNoTextOfACallerIsInAStatement"),
		breaks("1.2.5", "a program is started by its name", asvsRun+"/hashing.go",
			`exec.Command(ownProgram(), "hash")`, `exec.Command(os.Getenv("FLAKEPASS_HASHER"), "hash")`, "internal/proof/arch", "TestTheServerStartsNothingButItself"),
		breaks("1.2.5", "the environment names the program", asvsRun+"/hashing.go",
			`return os.Args[0]`, `return os.Getenv("FLAKEPASS_HASHER")`, "internal/proof/arch", "TestTheServerStartsNothingButItself"),
		breaks("1.2.5", "the image has a shell", "cmd/flakepass/Dockerfile", "FROM scratch\n", "FROM alpine\n", "internal/proof/supply", "TestImageHasNothingButTheProgram"),
		breaks("1.2.9", "a variable is a pattern", asvsUI+"/span.go",
			"letter = regexp.MustCompile(`[dhms]`)", "letter = regexp.MustCompile(units[0].name)",
			"internal/proof/arch", "TestNoInputIsAPattern"),
		breaks("1.2.10", "a formula is exported as it is", "internal/domain/audit/csv.go", "cells[i] = SpreadsheetText(cells[i])", "_ = cells[i]",
			asvsUI, "TestExportedCellsAreNoFormulas"),
		breaks("1.2.10", "spaces hide a formula", "internal/domain/invalid/invalid.go", " && !unicode.IsSpace(r)", "",
			"internal/domain/audit", "TestSpreadsheetTakesNoTextForAFormula", "FuzzSpreadsheetText"),
		breaks("1.3.2", "the pages allow eval", asvsUI+"/assets.go", "script-src 'self'; ", "script-src 'self' 'unsafe-eval'; ", asvsUI, "TestEveryAnswerIsHardened"),
		breaks("1.3.3", "only old control characters are cut", asvsCommand+"/policyshow.go", "if !unicode.IsPrint(r) && !strings", "if unicode.IsControl(r) && r < ' ' && !strings",
			asvsCommand, "TestShownTextCommandsNoTerminal"),
		breaks("1.3.3", "a role is printed as the server says it", asvsCommand+"/remotelogin.go", "printable(me.Role), l.ID", "me.Role, l.ID",
			"internal/proof/commandtest", "TestRemoteServerCannotWriteToTheTerminal"),
		breaks("1.3.3", "the record is searched for a text of any length", "internal/domain/operator/needs.go", "len(text) <= 1024 && ", "", asvsUI, "FuzzTyped"),
		breaks("1.3.7", "a template is made of a text", asvsUI+"/request.go",
			"\tvar b bytes.Buffer\n", "\tif _, err := q.u.pages().Parse(q.r.URL.Path); err != nil {\n\t\treturn\n\t}\n\tvar b bytes.Buffer\n", "internal/proof/arch", "TestNoInputIsATemplate"),
		breaks("1.3.10", "what comes in is a format", "internal/domain/policy/change.go",
			`wrong("idle_timeout_seconds", CodeTooLong, "the idle`, `wrong("idle_timeout_seconds", CodeTooLong, fmt.Sprintf(p.Schedule)+"the idle`,
			"internal/proof/arch", "TestNoInputIsAFormat"),
		breaks("1.4.1, 1.4.3", "the program is built with cgo", "Makefile", "\tCGO_ENABLED=0 $(GO) build -tags", "\t$(GO) build -tags", "internal/proof/arch", "TestMemoryIsGos"),
		breaks("1.4.2", "an ID has 64 bits", "idworker/id.go", "if n > 1<<63-1 {", "if n > 1<<63 {", "idworker", "FuzzParseID"),
		breaks("1.4.2", "the ID in a token has 64 bits", "api/flakepass/token.go", "if !ok || id == 0 || id > 1<<63-1 {", "if !ok || id == 0 || id > 1<<63 {", "api/flakepass", "TestIDOutOfRangeIsRefused"),
		breaks("1.5.2", "a text is taken for a number", asvsAPI+"/body.go",
			"json.Unmarshal(body, v, json.RejectUnknownMembers(true))", "json.Unmarshal(body, v, json.StringifyNumbers(true), json.RejectUnknownMembers(true))",
			asvsAPI, "TestPolicyErrorsAreReturnedTogether"),
		breaks("1.5.2", "what is behind a value is passed over", "internal/store/redisstore/codec.go",
			"if mac := c.mac(key, body); !hmac.Equal(b[len(body):], mac[:]) {", "if false {", "internal/store/redisstore", "FuzzDecode"),
		breaks("1.5.3", "names in JSON are read in any case", asvsAPI+"/body.go",
			"json.Unmarshal(body, v, json.RejectUnknownMembers(true))", "json.Unmarshal(body, v, json.MatchCaseInsensitiveNames(true), json.RejectUnknownMembers(true))",
			asvsAttack, "TestBodiesOfTwoReadingsChangeNothing"),
	)
}
