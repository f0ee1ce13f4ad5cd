package console

import (
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// client is the user and the address, for what people do with their own accounts.
func (q *request) client() *login.Client {
	c := &login.Client{By: audit.Actor{
		ID: session.UserOf(q.who), Session: idworker.ID(q.who.SessionID), Name: q.who.Username, Via: audit.ViaConsole, RequestID: q.w.Header().Get(requestIDHeader),
	}, Admin: q.who.UserID != 0} // only admins log in here
	c.Address, _ = clientaddr.Of(q.r, q.u.TrustedProxies)
	if t, err := tokenOf(q.r); err == nil {
		c.Shows(t)
	}
	c.Credential = deviceCredential(q.r)
	c.Device = q.device()
	return c
}

// refusal is the status and the sentence for an error of the own account, and sets
// the headers that go with it. The log has the cause of what the user cannot mend.
func (q *request) refusal(what string, err error) (status int, sentence string) {
	status, sentence, known := q.knownRefusal(what, err)
	if known {
		return status, sentence
	}
	q.w.Header().Set("Retry-After", retryAfter)
	q.logFailure(slog.LevelError, what, err)
	return http.StatusServiceUnavailable, q.t.Text("login.failed")
}

// knownRefusal is refusal for an error of which it is known what it means: nothing was changed.
func (q *request) knownRefusal(what string, err error) (status int, sentence string, known bool) {
	if e, ok := errors.AsType[*ratelimit.LimitedError](err); ok { // RFC 6585 section 4
		wait := max(e.Retry, time.Second)
		q.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return http.StatusTooManyRequests, q.t.Text("login.limited", q.t.span(wait+time.Second-1)), true
	}
	for _, known := range q.t.refusals() {
		if errors.Is(err, known.err) {
			return known.status, known.sentence, true
		}
	}
	switch {
	case errors.Is(err, account.ErrBusy):
		sentence = q.t.Text("login.busy")
	case errors.Is(err, secondfactor.ErrSealed): // a recovery code is taken all the same
		q.uncheckable(what, err)
		sentence = q.t.Text("account.sealed")
	default:
		return 0, "", false
	}
	q.w.Header().Set("Retry-After", retryAfter)
	return http.StatusServiceUnavailable, sentence, true
}

// A knownRefusal is an error, and what the page says of it.
type knownRefusal struct {
	err      error
	status   int
	sentence string
}

// refusals are the errors that a person can do something about; the first that is
// found in an error counts.
func (t *texts) refusals() []knownRefusal {
	return []knownRefusal{
		{login.ErrCurrent, http.StatusForbidden, t.Text("confirm.wrong")},
		{login.ErrKeepFactor, http.StatusConflict, t.Text("account.too_short_to_remove")},
		{login.ErrRole, http.StatusForbidden, t.Text("login.role")},
		{account.ErrWrong, http.StatusUnauthorized, t.Text("login.wrong")},
		{account.ErrDisabled, http.StatusForbidden, t.Text("login.disabled")},
		{account.ErrShort, http.StatusForbidden, t.Text("account.reset_needed")},
		{secondfactor.ErrRequired, http.StatusForbidden, t.Text("account.code_needed")},
		{secondfactor.ErrInvalid, http.StatusForbidden, t.Text("account.code_wrong")},
		{secondfactor.ErrTicket, http.StatusUnauthorized, t.Text("account.ticket_over")},
		{secondfactor.ErrOff, http.StatusForbidden, t.Text("account.off")},
		{secondfactor.ErrEnrolled, http.StatusConflict, t.Text("account.already")},
		{secondfactor.ErrNotEnrolled, http.StatusConflict, t.Text("account.none")},
	}
}
