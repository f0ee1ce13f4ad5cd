package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// maxLine is the longest line of a file, in bytes. Fields have far less.
const maxLine = 64 << 10

// An importFile is read line by line. Each line is a user: an object of JSON, or a record of
// CSV below a header that names its fields. So a bad line spoils no other one, and what is
// in memory does not depend on the file.
type importFile struct {
	in   *bufio.Reader
	line int
	odd  bool  // the line has an odd number of quotes
	err  error // of the file; set when the lines have ended
}

func newImportFile(r io.Reader) *importFile { return &importFile{in: bufio.NewReaderSize(r, maxLine)} }

var errQuoted = errors.New("is a part of a quoted field, or has one that does not end; fields have no ends of lines")

var errLineTooLong = fmt.Errorf("must have at most %d bytes", maxLine)

// next is the next line that is not empty, without its end.
func (f *importFile) next() (text []byte, bad error, ok bool) {
	for {
		text, err := f.in.ReadSlice('\n')
		f.line++
		quotes := bytes.Count(text, []byte(`"`))
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = f.in.ReadSlice('\n')
			quotes += bytes.Count(more, []byte(`"`))
		}
		f.odd = quotes%2 == 1
		if err != nil && !errors.Is(err, io.EOF) {
			f.err = err
			return nil, nil, false
		}
		if f.line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		text = bytes.TrimSpace(text)
		switch {
		case long:
			return nil, errLineTooLong, true
		case len(text) > 0 && !utf8.Valid(text):
			return nil, errors.New("must be text in UTF-8"), true
		case len(text) > 0:
			return text, nil, true
		case err != nil:
			return nil, nil, false
		}
	}
}

// mostSpoilt is how many bad lines may be before the first that can be read.
const mostSpoilt = 100

// spoilt are the bad lines at the beginning of a file of JSON, of which the first is bad because of err. It leaves the line
// after them as the next. A file of CSV with a bad header is none: a field that is an object of JSON has quotes around it.
func (f *importFile) spoilt(err error) (lines []operator.Incoming, next []byte, ok bool) {
	for len(lines) < mostSpoilt {
		lines = append(lines, operator.Incoming{Line: f.line, Bad: err})
		text, bad, more := f.next()
		switch {
		case !more:
			return nil, nil, false
		case bad != nil:
			err = bad
			continue
		}
		if _, err = readJSONLine(text); err == nil {
			return lines, text, true
		}
	}
	return nil, nil, false
}

// lines are the users of the file, each with the number of its line. A header that cannot be
// used is an error, unless the first line that can be read is an object of JSON: then the file is one of JSON, and the lines
// before it are bad.
func (f *importFile) lines() (iter.Seq[operator.Incoming], error) {
	first, bad, ok := f.next()
	read, within := readJSONLine, func() bool { return false }
	var spoilt []operator.Incoming
	switch {
	case f.err != nil:
		return nil, f.err
	case !ok:
		return func(func(operator.Incoming) bool) {}, nil
	case bad != nil || first[0] != '{':
		line, header := f.line, []string(nil)
		err := bad
		if err == nil {
			header, err = readCSVHeader(first)
		}
		if err != nil {
			if spoilt, first, ok = f.spoilt(err); !ok {
				return nil, cmp.Or(f.err, fmt.Errorf("line %d: %w", line, err))
			}
			bad = nil
			break
		}
		// Within a quoted field that has an end of a line stands what somebody has typed in the other
		// system: nothing there is a record, whatever it looks like.
		quoted := false
		within = func() bool {
			was := quoted
			quoted = quoted != f.odd
			return was || quoted
		}
		read = func(text []byte) (operator.Incoming, error) { return readCSVLine(header, text) }
		first, bad, ok = f.next()
	}
	return func(yield func(operator.Incoming) bool) {
		for _, in := range spoilt {
			if !yield(in) {
				return
			}
		}
		for text, bad, ok := first, bad, ok; ok; text, bad, ok = f.next() {
			if within() {
				bad = cmp.Or(bad, errQuoted)
			}
			in := operator.Incoming{Bad: bad}
			if bad == nil {
				if in, bad = read(text); bad != nil {
					in = operator.Incoming{Bad: bad}
				}
			}
			if in.Line = f.line; !yield(in) {
				return
			}
		}
	}, nil
}

// An importLine is a line of JSON, as `user export` writes it, too.
type importLine struct {
	Username   string          `json:"username"`
	ExternalID string          `json:"external_id,omitempty"`
	Aliases    []string        `json:"aliases,omitempty"`
	Hash       string          `json:"password_hash,omitempty"`
	Short      string          `json:"hash,omitempty"` // the same
	Role       string          `json:"role,omitempty"`
	Disabled   bool            `json:"disabled,omitempty"`
	Created    json.RawMessage `json:"created,omitempty"` // a text or a number
}

// readJSONLine reads one object. Members that are not known, written in another case or there twice are
// refused: a name that is mistyped would make accounts without passwords.
func readJSONLine(text []byte) (operator.Incoming, error) {
	raw := new(importLine) // of null nothing is left
	if err := strictjson.Unmarshal(text, &raw, strictjson.RejectUnknownMembers(true)); err != nil || raw == nil {
		return operator.Incoming{}, badJSON(err)
	}
	created := string(raw.Created)
	if created == "null" {
		created = ""
	} else if text := strings.Trim(created, `"`); text != "" { // the quotes of an empty one stay, which is no time
		created = text
	}
	return incoming(raw, created)
}

// badJSON says what is wrong without repeating a value.
func badJSON(err error) error {
	wrong, _ := errors.AsType[*strictjson.SemanticError](err)
	malformed, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, strictjson.ErrUnknownName):
		return fmt.Errorf("has a member %q that is not known; the members are %s", printable(wrong.JSONPointer.LastToken()), strings.Join(importFields, ", "))
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("has the member %q twice", printable(malformed.JSONPointer.LastToken()))
	case wrong != nil && wrong.JSONPointer != "":
		return fmt.Errorf("%s must be of another type", printable(wrong.JSONPointer.LastToken()))
	}
	return errors.New("is not one object of JSON")
}

// importFields are the fields of a line.
var importFields = []string{"username", "external_id", "aliases", "password_hash", "hash", "role", "disabled", "created"}

// readCSVHeader reads the names of the fields. It repeats none: without a header the first line is a user.
func readCSVHeader(text []byte) ([]string, error) {
	header, err := csv.NewReader(bytes.NewReader(text)).Read()
	if err != nil {
		return nil, errors.New("is neither an object of JSON nor a header of CSV")
	}
	for i, name := range header {
		if !slices.Contains(importFields, name) || slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("field %d of the header is not known or there twice; the fields are %s", i+1, strings.Join(importFields, ", "))
		}
	}
	if !slices.Contains(header, "username") {
		return nil, errors.New("the header has no username")
	}
	return header, nil
}

// readCSVLine reads a record, which is one line: no field has an end of a line in it.
func readCSVLine(header []string, text []byte) (operator.Incoming, error) {
	record, err := csv.NewReader(bytes.NewReader(text)).Read()
	if err != nil {
		return operator.Incoming{}, errors.New("is no record of CSV in one line")
	}
	if len(record) != len(header) {
		return operator.Incoming{}, fmt.Errorf("has %d fields, and the header %d", len(record), len(header))
	}
	value := func(name string) string {
		if i := slices.Index(header, name); i >= 0 {
			return record[i]
		}
		return ""
	}
	disabled, err := strconv.ParseBool(cmp.Or(value("disabled"), "false"))
	if err != nil {
		return operator.Incoming{}, errors.New("disabled must be true or false")
	}
	return incoming(&importLine{
		value("username"), value("external_id"), strings.Fields(value("aliases")), value("password_hash"), value("hash"), value("role"), disabled, nil,
	}, value("created"))
}

func incoming(l *importLine, created string) (operator.Incoming, error) {
	if l.Hash != "" && l.Short != "" {
		return operator.Incoming{}, errors.New("has both password_hash and hash")
	}
	at, err := readCreated(created)
	return operator.Incoming{Username: l.Username, ExternalID: l.ExternalID, Aliases: l.Aliases, Hash: l.Hash + l.Short, Role: l.Role, Disabled: l.Disabled, Created: at}, err
}

// readCreated reads a time in RFC 3339 or in Unix seconds. The empty text is none.
func readCreated(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 && seconds <= 253_402_300_799 { // the last one of the year 9999
		return time.Unix(seconds, 0), nil
	}
	at, err := wire.ParseTime(text)
	if err != nil {
		return time.Time{}, errors.New("created must be a time such as 2026-05-06T07:08:09Z, or Unix seconds, after 1970")
	}
	return at, nil
}
