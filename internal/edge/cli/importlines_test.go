package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flakepass/flakepass/internal/domain/operator"
)

// linesOf is what a file says, a text for each line.
func linesOf(t *testing.T, text string) (lines []string, err error) {
	t.Helper()
	file := newImportFile(iotest.HalfReader(strings.NewReader(text)))
	all, err := file.lines()
	if err != nil {
		return nil, err
	}
	for in := range all {
		what := fmt.Sprintf("%d %s|%s|%s|%s|%v|%d", in.Line, in.Username, in.ExternalID, in.Hash, in.Role, in.Disabled, max(0, in.Created.Unix()))
		if len(in.Aliases) > 0 {
			what += fmt.Sprintf("%q", in.Aliases)
		}
		if in.Bad != nil {
			what = fmt.Sprintf("%d bad: %v", in.Line, in.Bad)
		}
		lines = append(lines, what)
	}
	return lines, file.err
}

// TestLinesOfAFile: each line is read by itself, and a bad one spoils no other.
func TestLinesOfAFile(t *testing.T) {
	quoted := errQuoted.Error()
	long := strings.Repeat("x", maxLine)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"JSON": {"\ufeff" + `{"username":"ada","external_id":"1","password_hash":"h","role":"admin","disabled":true,"created":"1970-01-01T00:01:00Z"}` + "\r\n\n" +
			`{"username":"bob","hash":"h","created":70}` + "\n" + `{"username":"eve","created":null}`,
			[]string{"1 ada|1|h|admin|true|60", "3 bob||h||false|70", "4 eve||||false|0"}},
		"CSV": {"created,username,disabled,external_id\n60,ada,1,7\n" + `"1970-01-01T00:02:00+00:00","bo,b",,"a ""b"""` + "\n,eve,false,",
			[]string{"2 ada|7|||true|60", `3 bo,b|a "b"|||false|120`, "4 eve||||false|0"}},
		"aliases": {`{"username":"ada","aliases":["a@example.org","+4915112345678"]}` + "\n" + `{"username":"bob","aliases":null}` + "\n" + `{"username":"eve","aliases":"a@example.org"}`,
			[]string{`1 ada||||false|0["a@example.org" "+4915112345678"]`, "2 bob||||false|0", "3 bad: aliases must be of another type"}},
		"aliases of CSV": {"aliases,username\n a@example.org  +4915112345678,ada\n,bob", []string{`2 ada||||false|0["a@example.org" "+4915112345678"]`, "3 bob||||false|0"}},
		"bad JSON": {`{"username":"ada"}` + "\n" + `{"username":` + "\n" + `{"username":"x"} y` + "\n" + `{"username":"x"}]` + "\n" + `{"username":7}` + "\n" + `{"user":"x"}` + "\n" +
			`{"username":"x","created":"yesterday"}` + "\n" + `{"username":"x","hash":"a","password_hash":"b"}` + "\n[]\n\"\xff\"\n" + `{"a":"` + long + "\"}\n" + `{"username":"bob"}`,
			[]string{"1 ada||||false|0", "2 bad: is not one object of JSON", "3 bad: is not one object of JSON", "4 bad: is not one object of JSON", "5 bad: username must be of another type",
				`6 bad: has a member "user" that is not known; the members are username, external_id, aliases, password_hash, hash, role, disabled, created`,
				"7 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970", "8 bad: has both password_hash and hash", "9 bad: is not one object of JSON",
				"10 bad: must be text in UTF-8", "11 bad: must have at most 65536 bytes", "12 bob||||false|0"}},
		"names of JSON": {`{"Username":"ada","hash":"h"}` + "\n" + `{"username":"ada","HASH":"h"}` + "\n" + `{"username":"ada","hash":"a","hash":"b"}` + "\n" + `{"username":"ada","username":"ada"}` + "\nnull\n" +
			`{"username":"bob"}`,
			[]string{`1 bad: has a member "Username" that is not known; the members are username, external_id, aliases, password_hash, hash, role, disabled, created`,
				`2 bad: has a member "HASH" that is not known; the members are username, external_id, aliases, password_hash, hash, role, disabled, created`,
				`3 bad: has the member "hash" twice`, `4 bad: has the member "username" twice`, "5 bad: is not one object of JSON", "6 bob||||false|0"}},
		"times": {`{"username":"ada","created":-9223372036854775808}` + "\n" + `{"username":"ada","created":9223372036854775807}` + "\n" + `{"username":"ada","created":-1}` + "\n" + `{"username":"bob","created":1}`,
			[]string{"1 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970", "2 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970",
				"3 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970", "4 bob||||false|1"}},
		"times that are given": {`{"username":"ada","created":""}` + "\n" + `{"username":"ada","created":"2026-05-06T07:08:09,5Z"}` + "\n" + `{"username":"ada","created":"2026-05-06T07:08:09+24:00"}` + "\n" + `{"username":"ada","created":"null"}`,
			[]string{"1 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970", "2 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970",
				"3 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970", "4 bad: created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970"}},
		"first line not UTF-8": {"{\"username\":\"\xff\"}\n" + `{"username":"bob"}`, []string{"1 bad: must be text in UTF-8", "2 bob||||false|0"}},
		"first line too long":  {`{"username":"` + long + "\"}\n\n" + `{"username":"bob"}`, []string{"1 bad: must have at most 65536 bytes", "3 bob||||false|0"}},
		"first line garbage":   {"\"username\": \"ada\"}\n" + `{"username":"bob"}`, []string{"1 bad: is neither an object of JSON nor a header of CSV", "2 bob||||false|0"}},
		"first lines garbage": {"\xff\n# users\n\n[]\nname\n" + `{"username":"bob"}` + "\nusername\n", []string{"1 bad: must be text in UTF-8",
			"2 bad: is not one object of JSON",
			"4 bad: is not one object of JSON", "5 bad: is not one object of JSON", "6 bob||||false|0",
			"7 bad: is not one object of JSON"}},
		"a record in a quoted field": {"username,hash,disabled\n\"x\n\nevil,h,0\ny\",h,0\nbob,h,0\n\"" + long + "\nevil,h,0\n\",h,0\n\"z\"\"\",h,0",
			[]string{"2 bad: " + quoted, "4 bad: " + quoted, "5 bad: " + quoted, "6 bob||h||false|0", "7 bad: must have at most 65536 bytes", "8 bad: " + quoted, "9 bad: " + quoted, "10 z\"||h||false|0"}},
		"bad CSV": {"username,hash,disabled\nada,h\"x\"\nbob,h,0\neve,h\nmal,h,maybe\n" + long + ",h,0\nzoe,h,",
			[]string{"2 bad: is no record of CSV in one line", "3 bob||h||false|0", "4 bad: has 2 fields, and the header 3", "5 bad: disabled must be true or false",
				"6 bad: must have at most 65536 bytes", "7 zoe||h||false|0"}},
		"empty":       {"\n \n", nil},
		"header only": {"username\n", nil},
	} {
		if got, err := linesOf(t, c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, got, c.want)
		}
	}
	for _, header := range []string{"name\nada", "username,username\nada,bob", "external_id\n1", "[]", "\"\n", "\xff\n", long, "name\n{x\n\"{\"\"username\"\":\"\"ada\"\"}\"", strings.Repeat("x\n", mostSpoilt+1) + `{"username":"ada"}`} {
		if lines, err := linesOf(t, header); err == nil {
			t.Errorf("%.20q: %q", header, lines)
		}
	}
	broken := errors.New("broken")
	file := newImportFile(io.MultiReader(strings.NewReader("username\nada\n"), iotest.ErrReader(broken)))
	all, err := file.lines()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range all {
		n++
	}
	if n != 1 || !errors.Is(file.err, broken) {
		t.Errorf("%d lines, %v", n, file.err)
	}
}

// TestNoHeaderIsRepeated: where a header is missing, the first line has the hash of a password.
func TestNoHeaderIsRepeated(t *testing.T) {
	for header, want := range map[string]string{
		"username,$2y$10$nHka8\nada,$2y$10$nHka9": "field 2 of the header is not known or there twice", "ada,user": "field 1 of the header is not known",
	} {
		if _, err := linesOf(t, header); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "nHka") || strings.Contains(err.Error(), `"ada"`) {
			t.Errorf("%q: %v", header, err)
		}
	}
}

// TestCreatedInTheYearOneIsNotNow: the zero time of Go is one that is given, and is refused as 1969 is.
func TestCreatedInTheYearOneIsNotNow(t *testing.T) {
	for _, text := range []string{`{"username":"ada","created":"0001-01-01T00:00:00Z"}`, "username,created\nada,0001-01-01T00:00:00Z"} {
		all, err := newImportFile(strings.NewReader(text)).lines()
		if err != nil {
			t.Fatal(err)
		}
		for in := range all {
			if in.Bad != nil || in.Created.IsZero() || in.Created.Unix() > 0 {
				t.Errorf("%s: created at %v, %v", text, in.Created, in.Bad)
			}
		}
	}
}

// FuzzImportLines: every line that is not empty is one user or one that is bad, with its
// number, whatever stands in it; and what is wrong with it is said without repeating it.
func FuzzImportLines(f *testing.F) {
	f.Add([]byte(`{"username":"ada","created":1}` + "\n" + `{"username":"b"}`))
	f.Add([]byte("username,hash\nada,secret-in-the-wrong-place\n\"a\n"))
	f.Add([]byte("\ufeffusername\r\n\r\nx\r\n"))
	f.Add([]byte("{\"username\":\"a\"}\n" + strings.Repeat(" ", 70000)))
	f.Add([]byte("\xff\nx\n{\"username\":\"a\"}\n{\"username\":\"b\"}"))
	f.Add([]byte("username,aliases\n\"a\nb\",c\nd,e f"))
	f.Add([]byte(`{"username":"a","created":{"a":1,"a":2}}` + "\n" + `{"Username":"a"}` + "\nnull"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := newImportFile(bytes.NewReader(text))
		lines, err := file.lines()
		if err != nil {
			return
		}
		want := 0
		for i, line := range bytes.Split(text, []byte("\n")) {
			if i == 0 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(line) > maxLine || len(bytes.TrimSpace(line)) > 0 { // what is too long is not looked at
				want++
			}
		}
		got, last := 0, 0
		lines(func(in operator.Incoming) bool {
			got++
			if in.Line <= last || in.Bad != nil && (in.Username != "" || in.Hash != "") {
				t.Errorf("line %d after %d: %+v", in.Line, last, in)
			}
			last = in.Line
			return true
		})
		if got != want && got != want-1 { // a header is no user
			t.Errorf("%d of %d lines", got, want)
		}
	})
}
