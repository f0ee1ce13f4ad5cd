package console

import (
	"errors"
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

// client is who asks, and from where, for what people do with their own accounts.
func (v *visit) client() *login.Client {
	c := &login.Client{By: audit.Actor{
		ID: session.UserOf(v.who), Session: idworker.ID(v.who.SessionID), Name: v.who.Username, Via: audit.ViaConsole, RequestID: v.w.Header().Get(requestIDHeader),
	}, Admin: v.who.UserID != 0} // nobody else is let in
	c.Address, _ = clientaddr.Of(v.r, v.u.TrustedProxies)
	if t, err := carried(v.r); err == nil {
		hash := session.HashOf(t)
		c.Device = hash[:]
	}
	c.Credential = carriedDevice(v.r)
	return c
}

// refusal is what a person is told of an error of the own account, and sets what
// goes with it. Of what is nobody's mistake the log has the cause.
func (v *visit) refusal(what string, err error) (status int, sentence string) {
	if e, ok := errors.AsType[*ratelimit.LimitedError](err); ok { // RFC 6585 section 4
		wait := max(e.Retry, time.Second)
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return http.StatusTooManyRequests, v.t.Text("login.limited", v.t.span(wait+time.Second-1))
	}
	for _, told := range v.t.refusals() {
		if errors.Is(err, told.err) {
			return told.status, told.sentence
		}
	}
	v.w.Header().Set("Retry-After", retryAfter)
	switch {
	case errors.Is(err, account.ErrBusy):
		return http.StatusServiceUnavailable, v.t.Text("login.busy")
	case errors.Is(err, secondfactor.ErrSealed): // a recovery code is taken all the same
		v.uncheckable(what, err)
		return http.StatusServiceUnavailable, v.t.Text("account.sealed")
	case v.r.Context().Err() == nil: // else nobody waits, and leaving is no error
		v.u.Log.ErrorContext(v.r.Context(), "console: "+what, "err", err, "request_id", v.w.Header().Get(requestIDHeader)) //nolint:sloglint // a constant of the caller
	}
	return http.StatusServiceUnavailable, v.t.Text("login.failed")
}

// A told is an error, and what a person is told of it.
type told struct {
	err      error
	status   int
	sentence string
}

// refusals are the errors that a person can do something about; the first that is
// found in an error counts.
func (t *texts) refusals() []told {
	return []told{
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
