package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/api/wire"
)

// A Problem is a problem document of flakepass (RFC 9457): every answer of its own with a
// status of 400 or more. What something in between answered is none, but [ErrAnswer]. It
// unwraps to its [Code]. All texts are of the server; they have no characters
// that a terminal obeys.
type Problem struct {
	Status     int               // of HTTP
	Code       Code              // stable, and never empty
	Title      string            // one line, for people
	Detail     string            // what to do; may be empty
	Errors     []wire.FieldError // of [ValidationFailed]: every broken rule
	Reasons    []string          // of [NotReady]: what is not
	Effect     *wire.Effect      // of [ConfirmationRequired]: what the change would do; else nil
	Sessions   []wire.MySession  // of [SessionLimit]: the logins of the user, the newest first
	Ticket     Ticket            // of [SessionLimit]: for [Credentials], in place of the proofs
	Scope      string            // of [ScopeMissing]: what the service key needs
	RetryAfter time.Duration     // when to ask again, at most a year; 0 if the server does not say
	RequestID  string            // under which the server logs the request; may be empty
}

// Error is the problem in one line, without the request ID.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString("client: " + p.Title)
	if p.Detail != "" {
		b.WriteString("; " + p.Detail)
	}
	for i, f := range p.Errors {
		b.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0] + f.Field + " " + f.Message)
	}
	if len(p.Reasons) > 0 {
		b.WriteString(": " + strings.Join(p.Reasons, "; "))
	}
	fmt.Fprintf(&b, " (%d %s)", p.Status, string(p.Code))
	return b.String()
}

// Unwrap is the code.
func (p *Problem) Unwrap() error { return p.Code }

// maxText bounds each text of a problem, in bytes, and maxList each list: an
// error is read by people, and the answer may come from any server.
const (
	maxText = 1000
	maxList = 100
)

// A page is an answer with a status of 400 or more that is no problem document: of something
// in between, which may be over soon as well.
type page struct{ Problem }

// Error is the status, and that it is not flakepass's.
func (p *page) Error() string {
	return fmt.Sprintf("client: status %d without a problem document: %v", p.Status, ErrAnswer)
}

// Unwrap is ErrAnswer.
func (p *page) Unwrap() error { return ErrAnswer }

// refused reads an answer with a status of 400 or more, whatever it is.
func refused(resp *http.Response, body []byte) error {
	p := readProblem(body, mediaType(resp.Header))
	p.Status = resp.StatusCode
	if p.RequestID == "" {
		p.RequestID = clean(resp.Header.Get("X-Request-Id"))
	}
	p.RetryAfter = readRetryAfter(resp.Header, time.Now())
	if p.Code == "" {
		return &page{*p}
	}
	return p
}

// maxAfter is the longest time to wait that is read.
const maxAfter = 365 * 24 * time.Hour

// readRetryAfter is how long to wait before the next call. The header is what a server has
// to send (RFC 9110, section 10.2.3), in seconds or as a date; a proxy may have written it.
// A date counts from when the answer was sent by the clock of who sent it, if it says so.
func readRetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // then it is the largest number
		return time.Duration(min(seconds, uint64(maxAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return min(max(at.Sub(now), 0), maxAfter)
}

// readProblem reads a problem document, or returns an empty problem. Nothing but
// the code is needed for one. What OAuth clients ask is answered in their media type, with
// the code of theirs.
func readProblem(body []byte, kind string) *Problem {
	var w wire.Problem
	if json.Unmarshal(body, &w) != nil || !Code(w.Code).wellFormed() || kind != typeProblem && (kind != typeJSON || w.OAuthError == "") {
		return &Problem{}
	}
	p := &Problem{
		Code: Code(w.Code), Title: cmp.Or(clean(w.Title), strings.ReplaceAll(w.Code, "_", " ")), Detail: clean(w.Detail), RequestID: clean(w.RequestID),
	}
	for _, f := range w.Errors[:min(len(w.Errors), maxList)] {
		p.Errors = append(p.Errors, wire.FieldError{Field: clean(f.Field), Code: clean(f.Code), Message: clean(f.Message)})
	}
	for _, r := range w.Reasons[:min(len(w.Reasons), maxList)] {
		p.Reasons = append(p.Reasons, clean(r))
	}
	if w.Effect != nil && w.Effect.Sane() {
		p.Effect = w.Effect
	}
	for _, s := range w.Sessions[:min(len(w.Sessions), maxList)] {
		if s.Complete() {
			s.Device.Class, s.Device.Name = clean(s.Device.Class), clean(s.Device.Name)
			p.Sessions = append(p.Sessions, s)
		}
	}
	p.Scope = clean(w.Scope)
	if len(w.Ticket) <= maxText {
		p.Ticket = NewTicket(w.Ticket)
	}
	return p
}

// clean is a text of another server in a bounded length, and without what a
// terminal or a log obeys.
func clean(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
