package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/api/wire"
)

// A Problem is an answer with a status of 400 or more: a problem document (RFC
// 9457), or what is left of one if something in between answered instead. It
// unwraps to its [Code]. All texts are of the server; they have no characters
// that a terminal obeys.
type Problem struct {
	Status     int               // of HTTP
	Code       Code              // stable; empty if the answer was no problem document
	Title      string            // one line, for people
	Detail     string            // what to do; may be empty
	Errors     []wire.FieldError // of [ValidationFailed]: every broken rule
	Reasons    []string          // of [NotReady]: what is not
	Effect     *wire.Effect      // of [ConfirmationRequired]: what the change would do; else nil
	Sessions   []wire.MySession  // of [SessionLimit]: the logins of the user, the newest first
	Ticket     Ticket            // of [SessionLimit]: for [Credentials], in place of the proofs
	Scope      string            // of [ScopeMissing]: what the service key needs
	RetryAfter time.Duration     // when to ask again; 0 if the server does not say
	RequestID  string            // under which the server logs the request; may be empty
}

// Error is the problem in one line, without the request ID.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString("client: ")
	switch {
	case p.Title != "":
		b.WriteString(p.Title)
	default:
		fmt.Fprintf(&b, "status %d, and no problem document; is the URL that of flakepass?", p.Status)
	}
	if p.Detail != "" {
		b.WriteString("; " + p.Detail)
	}
	for i, f := range p.Errors {
		b.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0] + f.Field + " " + f.Message)
	}
	if len(p.Reasons) > 0 {
		b.WriteString(": " + strings.Join(p.Reasons, "; "))
	}
	if p.Code != "" {
		fmt.Fprintf(&b, " (%d %s)", p.Status, string(p.Code))
	}
	return b.String()
}

// Unwrap is the code, or nil if there is none.
func (p *Problem) Unwrap() error {
	if p.Code == "" {
		return nil
	}
	return p.Code
}

// maxText bounds each text of a problem, in bytes, and maxList each list: an
// error is read by people, and the answer may come from any server.
const (
	maxText = 1000
	maxList = 100
)

// problemOf reads an answer with a status of 400 or more, whatever it is.
func problemOf(resp *http.Response, body []byte) *Problem {
	p := readProblem(body, isJSON(resp.Header))
	p.Status = resp.StatusCode
	if p.RequestID == "" {
		p.RequestID = clean(resp.Header.Get("X-Request-Id"))
	}
	// The header is what a server has to send (RFC 9110, section 10.2.3); a
	// proxy may have written it. Dates are not used: clocks differ.
	if n, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		p.RetryAfter = time.Duration(n) * time.Second
	}
	return p
}

// readProblem reads a problem document, or returns an empty problem. Nothing but
// the code is needed for one.
func readProblem(body []byte, isJSON bool) *Problem {
	var w wire.Problem
	if !isJSON || json.Unmarshal(body, &w) != nil || !Code(w.Code).wellFormed() {
		return &Problem{}
	}
	p := &Problem{Code: Code(w.Code), Title: clean(w.Title), Detail: clean(w.Detail), RequestID: clean(w.RequestID)}
	if p.Title == "" {
		p.Title = strings.ReplaceAll(w.Code, "_", " ")
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
