package lifecycletest

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/server/run"
)

// forgedTime is the time of a log line that an attacker writes.
const forgedTime = "2026-01-01T00:00:00.000Z"

// evil is what people put into fields whose text ends up in a log, a terminal or
// a spreadsheet.
var evil = map[string]string{
	"a line of our own":   "x\ntime=" + forgedTime + " level=INFO msg=login user_id=1 forged=yes",
	"CRLF":                "x\r\nforged: yes",
	"a carriage return":   "login\rforged=yes",
	"a red line":          "\x1b[31mforged\x1b[0m\x1b[2J\x1b]0;forged\x07",
	"an 8-bit CSI":        "\u009b31mforged",
	"line separators":     "x\u2028forged=yes\u2029forged=yes\u0085forged=yes",
	"bidi overrides":      "x\u202eforged\u2066\u2069\u200f",
	"NUL":                 "x\x00forged",
	"no UTF-8":            "x\xff\xfe\xc0\xafforged",
	"backspaces":          "x\b\b\b\b\x7fforged",
	"quotes":              `x" forged=yes msg="login`,
	"JSON":                `x","forged":"yes`,
	"a template":          "${jndi:ldap://x/forged}%s%n{{.}}",
	"a formula":           "=cmd|' /C calc'!forged",
	"a sum":               "+1+cmd|forged",
	"a difference":        "-2+3+cmd|forged",
	"a function":          "@SUM(1+1)*forged",
	"a formula after tab": "\t=1+1",
	"very long":           strings.Repeat("forged ", 2000),
}

// TestAClientWritesNoLogLinesOfItsOwn puts all of that into every field of a request
// that can reach a line of the log or an event, and reads the log again, in both
// formats: each line is one entry, written by us, that a terminal shows as it is.
func TestAClientWritesNoLogLinesOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			d := e2e.OnSQLite(t)
			i := d.StartLoud(t, "FLAKEPASS_LOG_FORMAT", format, "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1", "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token")
			c := e2e.NewClient(t, i.Public)
			password := e2e.NewPassword()
			e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
			c.Want(c.Register("ada", password), 201, "")
			root, token := c.Login("root", password), c.Login("ada", password)
			for _, text := range evil {
				attack(t, i.Public, text, root, token)
			}
			c.Want(c.Do("GET", "/v1/me", "", e2e.Bearer(token), e2e.Header("X-Request-Id", "the-last-request")), 200, "")
			if err := i.Stop(); err != nil {
				t.Fatal(err)
			}
			n, last := 0, false
			for line := range strings.Lines(i.Log.String()) {
				fields, err := entry(format, strings.TrimSuffix(line, "\n"))
				if err != nil {
					t.Errorf("%v in %q", err, line)
					continue
				}
				n++
				last = last || fields["request_id"] == "the-last-request"
				wellFormed(t, fields, line)
			}
			if n < 20*len(evil) || !last {
				t.Errorf("%d entries, the last one among them: %v", n, last)
			}
			showsAsItIs(t, d, password)
		})
	}
}

// attack sends text wherever it can be sent. What cannot be sent by a client that
// keeps to HTTP is sent raw.
func attack(t *testing.T, address, text, root, token string) {
	t.Helper()
	base := "http://" + address
	client := &http.Client{Timeout: e2e.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, target, body string, headers ...string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for k := 0; k < len(headers); k += 2 {
			req.Header.Set(headers[k], headers[k+1])
		}
		resp, err := client.Do(req)
		if err != nil {
			return // no client sends that; raw does
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	q := url.QueryEscape(text)
	send("POST", base+"/v1/login", e2e.Object("username", text, "password", text))
	send("POST", base+"/v1/register", e2e.Object("username", text, "password", text))
	send("GET", base+"/v1/"+url.PathEscape(text)+"?x="+q, "")
	send("GET", base+"/console/"+url.PathEscape(text)+"?next="+q, "")
	send("POST", base+"/console/login", url.Values{"username": {text}, "password": {text}, "next": {text}}.Encode(), "Content-Type", typed)
	send("GET", base+"/v1/admin/users/"+url.PathEscape(text)+"?name="+q+"&cursor="+q, "", "Authorization", "Bearer "+root)
	send("POST", base+"/v1/admin/users", e2e.Object("username", text, "password", "another good passphrase", "role", text, "reason", text), "Authorization", "Bearer "+root)
	send("PUT", base+"/v1/admin/policy", `{"reason":`+strconv.Quote(text)+`}`, "Authorization", "Bearer "+root)
	for _, name := range []string{"User-Agent", "X-Request-Id", "X-Forwarded-For", "X-Auth-Token", "X-Forwarded-Uri", "X-Real-Ip", "Referer", "Cookie", "Origin", "If-Match"} {
		send("GET", base+"/v1/admin/users", "", "Authorization", "Bearer "+token, name, text)
		rawly(t, address, "GET /v1/admin/users HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\n"+name+": "+text+"\r\n\r\n")
	}
	// What is refused as a login is an event, too.
	for _, name := range []string{"X-Request-Id", "X-Forwarded-For"} {
		send("POST", base+"/v1/login", e2e.Object("username", "ada", "password", "wrong"), name, text)
	}
	rawly(t, address, text+" /v1/me HTTP/1.1\r\nHost: x\r\n\r\n")
	rawly(t, address, "GET /"+text+" HTTP/1.1\r\nHost: "+text+"\r\n\r\n")
}

func rawly(t *testing.T, address, text string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, e2e.Patience) //nolint:noctx // it has a timeout
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(e2e.Patience))
	_, _ = io.WriteString(conn, text)
	if half, ok := conn.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, conn)
}

// entry reads a line of the log.
func entry(format, line string) (map[string]string, error) {
	if format == "json" {
		return jsonEntry(line)
	}
	for _, r := range line {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return nil, fmt.Errorf("%U", r)
		}
	}
	fields := map[string]string{}
	for rest := line; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		name, value, found := strings.Cut(rest, "=")
		if !found || name == "" || strings.ContainsAny(name, ` "`) {
			return nil, fmt.Errorf("no name at %q", rest)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s twice", name)
		}
		if quoted, err := strconv.QuotedPrefix(value); err == nil {
			fields[name], _ = strconv.Unquote(quoted)
			rest = value[len(quoted):]
		} else {
			fields[name], rest, _ = strings.Cut(value, " ")
			if strings.ContainsAny(fields[name], `="`) {
				return nil, fmt.Errorf("%s is not quoted", name)
			}
			continue
		}
		if rest != "" && rest[0] != ' ' {
			return nil, fmt.Errorf("something after %s", name)
		}
	}
	return fields, nil
}

func jsonEntry(line string) (map[string]string, error) {
	read := json.NewDecoder(strings.NewReader(line))
	if first, err := read.Token(); err != nil || first != json.Delim('{') {
		return nil, fmt.Errorf("no object: %w", err)
	}
	fields := map[string]string{}
	for read.More() {
		name, err := read.Token()
		if err != nil {
			return nil, err
		}
		var value any
		if err := read.Decode(&value); err != nil {
			return nil, err
		}
		if _, twice := fields[fmt.Sprint(name)]; twice {
			return nil, fmt.Errorf("%s twice", name)
		}
		fields[fmt.Sprint(name)] = fmt.Sprint(value)
	}
	if _, err := read.Token(); err != nil {
		return nil, err
	}
	if rest, _ := io.ReadAll(read.Buffered()); len(rest) > 0 {
		return nil, fmt.Errorf("something after it: %q", rest)
	}
	return fields, nil
}

// ofRequest are the messages of requests: each has the name of its request.
var ofRequest = map[string]bool{
	"request": true, "login": true, "login refused": true, "logout": true, "registered": true, "forbidden": true, "password not changed": true,
	"two credentials in one request": true, "token made up": true, "token of a login that was ended": true, "token of a login that is over": true,
	"login to look at": true, "user created": true, "request not answered": true,
}

// wellFormed fails the test unless an entry has what docs/logging.md says, and
// nothing that only an attacker would write.
func wellFormed(t *testing.T, fields map[string]string, line string) {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000Z", fields["time"])
	if err != nil || at.Year() < 2026 || fields["time"] == forgedTime {
		t.Errorf("no time of ours: %s", line)
	}
	if l := fields["level"]; l != "DEBUG" && l != "INFO" && l != "WARN" && l != "ERROR" {
		t.Errorf("no level: %s", line)
	}
	if fields["instance"] != run.Holder() {
		t.Errorf("not of this instance: %s", line)
	}
	if fields["msg"] == "" || strings.Contains(fields["msg"], "forged") && fields["level"] != "WARN" {
		t.Errorf("no message of ours: %s", line)
	}
	if ofRequest[fields["msg"]] && fields["request_id"] == "" {
		t.Errorf("of no request: %s", line)
	}
	if _, forged := fields["forged"]; forged {
		t.Errorf("a field of another writer: %s", line)
	}
}

// showsAsItIs puts all of that into the database, as an attacker could who writes
// there, and looks at what commands make of it.
func showsAsItIs(t *testing.T, d *e2e.Deployment, password string) {
	t.Helper()
	db := d.SQL(t)
	n := 0
	for _, text := range evil {
		n++
		e2e.Execute(t, db, "INSERT INTO audit_events (id, actor, via, action, target_kind, target, reason, old_value, new_value, request_id, address) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, X'', X'', ?, ?)", time.Now().UnixMilli()<<22+int64(n), head(text, 255), head(text, 16), head(text, 48), head(text, 16), head(text, 255), head(text, 1000), head(text, 64), head(text, 64))
	}
	e2e.Execute(t, db, "UPDATE users SET username = ? WHERE username = 'ada'", evil["a line of our own"]+evil["a red line"])
	printed := func(args ...string) string {
		t.Helper()
		out := e2e.Must(t, d.Vars, "", args...).Out
		for _, r := range out {
			if !unicode.IsPrint(r) && r != '\n' || r == utf8.RuneError && args[len(args)-1] == "--json" {
				t.Errorf("flakepass %s prints %U", strings.Join(args, " "), r)
			}
		}
		return out
	}
	events := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events")
	if lines := strings.Count(printed("audit", "--limit", "0"), "\n"); lines != events+1 {
		t.Errorf("%d events on %d lines", events, lines)
	}
	if lines := strings.Count(printed("session", "list"), "\n"); lines > 3 {
		t.Errorf("two logins on %d lines", lines)
	}
	printed("user", "list")
	for s := bufio.NewScanner(strings.NewReader(e2e.Must(t, d.Vars, "", "audit", "--limit", "0", "--json").Out)); s.Scan(); {
		if _, err := jsonEntry(s.Text()); err != nil {
			t.Errorf("%v in %q", err, s.Text())
		}
	}
	printedCSV := e2e.Must(t, d.Vars, "", "audit", "--limit", "0", "--csv").Out
	spreadsheet(t, "flakepass audit --csv", printedCSV, events)
	i := d.Start(t)
	exportedCSV := exported(t, i, password)
	spreadsheet(t, "the export of the console", exportedCSV, events)
	// The console has more: the login that exports, and what was refused meanwhile.
	has := map[string]bool{}
	for _, row := range rowsOf(t, exportedCSV) {
		has[strings.Join(row, "\x00")] = true
	}
	for _, row := range rowsOf(t, printedCSV) {
		if !has[strings.Join(row, "\x00")] {
			t.Errorf("flakepass audit --csv prints a row that the console exports in another way: %q", row)
		}
	}
}

func rowsOf(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// head is as much of a text as a column holds.
func head(text string, n int) string { return text[:min(n, len(text))] }

// spreadsheet fails the test if a cell could be taken for a formula (OWASP, CSV
// injection), or if a row is not one event.
func spreadsheet(t *testing.T, what, text string, events int) {
	t.Helper()
	table, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(table) < events+1 {
		t.Fatalf("%s: %d rows of %d events, %v", what, len(table)-1, events, err)
	}
	for _, row := range table {
		for _, c := range row {
			if c != "" && strings.ContainsRune("=+-@\t\r\n", rune(c[0])) {
				t.Errorf("%s has the cell %q", what, c)
			}
		}
	}
}

// exported is the record as the console exports it.
func exported(t *testing.T, i *e2e.Instance, password string) string {
	t.Helper()
	client := &http.Client{Timeout: e2e.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(req *http.Request, err error) ([]*http.Cookie, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode >= 400 {
			t.Fatalf("%s answers %d", req.URL.Path, resp.StatusCode)
		}
		return resp.Cookies(), string(text)
	}
	form, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+i.Public+"/console/login",
		strings.NewReader(url.Values{"username": {"root"}, "password": {password}}.Encode()))
	if err == nil {
		form.Header.Set("Content-Type", typed)
	}
	cookies, _ := send(form, err)
	page, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+i.Public+"/console/audit.csv", nil)
	if err == nil {
		for _, c := range cookies {
			page.Header.Add("Cookie", c.Name+"="+c.Value)
		}
	}
	_, text := send(page, err)
	return text
}
