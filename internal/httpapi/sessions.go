package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/clientaddr"
	"github.com/flakepass/flakepass/internal/problem"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/throttle"
)

// stamp is a time in an answer: RFC 3339 in UTC, to the millisecond. It is a
// string because encoding/json reads again whatever a type marshals by itself.
func stamp(t time.Time) string {
	var room [24]byte
	t = t.UTC()
	// time has a fast path for this layout, and none for one with milliseconds.
	b := t.AppendFormat(room[:0], time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return string(append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}

type credentials struct {
	Username text `json:"username"`
	Password text `json:"password"`
}

func (s *server) login(c *gin.Context) error {
	noStore(c)
	var in credentials
	if err := bind(c, &in); err != nil {
		return err
	}
	ctx, try := c.Request.Context(), s.attempt(c, string(in.Username))
	if err := s.Gate.Login(ctx, try); err != nil {
		s.refused(c, err)
		return err
	}
	opened, err := s.Logins.Login(ctx, string(in.Username), account.NewPassword(string(in.Password)))
	if err != nil {
		s.refused(c, err)
		return err
	}
	who := &opened.Identity
	s.Gate.LoggedIn(ctx, try, who.UserID)
	s.event(c, "login", "user_id", who.UserID, "session_id", who.SessionID)
	c.JSON(http.StatusOK, struct {
		Token         string `json:"token"`
		TokenType     string `json:"token_type"`
		SessionID     string `json:"session_id"`
		ExpiresAt     string `json:"expires_at"`
		IdleExpiresAt string `json:"idle_expires_at"`
	}{opened.Token.Reveal(), "Bearer", who.SessionID.String(), stamp(who.ExpiresAt), stamp(who.IdleExpiresAt)})
	return nil
}

// logout succeeds also for a token that is dead already, or was never alive:
// it is no way to find out.
func (s *server) logout(c *gin.Context) error {
	noStore(c)
	t, err := flakepass.Credential(c.Request.Header, s.TokenHeader)
	if err != nil {
		s.guard.Refuse(c.Writer, c.Request, err)
		return nil
	}
	ended, err := s.Sessions.Close(c.Request.Context(), t)
	switch {
	case errors.Is(err, session.ErrUntold):
		s.event(c, "logout under way", "user_id", ended.UserID, "session_id", t.ID(), "err", err)
		c.JSON(http.StatusAccepted, struct {
			EffectiveWithinMS int64 `json:"effective_within_ms"`
		}{s.Bound.Milliseconds()})
	case err != nil:
		return err
	default:
		switch {
		case ended.ID == 0: // the ID is only what a stranger claims
		case ended.Before:
			s.event(c, "logout of a login that was over", "user_id", ended.UserID, "session_id", t.ID(), "reason", ended.Ended)
		default:
			s.event(c, "logout", "user_id", ended.UserID, "session_id", t.ID())
		}
		c.Status(http.StatusNoContent)
	}
	return nil
}

type mySession struct {
	ID            string `json:"id"`
	IssuedAt      string `json:"issued_at"`
	LastSeenAt    string `json:"last_seen_at"`
	ExpiresAt     string `json:"expires_at"`
	IdleExpiresAt string `json:"idle_expires_at"`
}

type me struct {
	Username string    `json:"username"`
	Role     string    `json:"role"`
	Session  mySession `json:"session"`
}

func (s *server) me(c *gin.Context) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	c.JSON(http.StatusOK, me{who.Username, who.Role, mySession{
		who.SessionID.String(), stamp(who.IssuedAt), stamp(who.LastSeenAt),
		stamp(who.ExpiresAt), stamp(who.IdleExpiresAt),
	}})
	return nil
}

// verify answers a proxy. It sets all headers every time, so that a proxy that
// copies them overwrites whatever a client sent. The signature is for the request
// that the proxy says it asks about: whoever asks with a token may say anything
// there, and has the token.
func (s *server) verify(c *gin.Context) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	asked := c.Request.Header
	s.ForwardKey.Forward(c.Writer.Header(), &who, asked.Get("X-Forwarded-Method"), asked.Get("X-Forwarded-Uri"))
	c.Status(http.StatusOK)
	return nil
}

// refused logs a login that was refused. What was typed as the name is never
// logged, not even where somebody has that name: people type their password
// there, and another's name may be one. The ID of the account that has the name
// is, so that an operator sees who is being guessed at; it tells the reader of
// the log nothing about a text that is nobody's name.
func (s *server) refused(c *gin.Context, err error) {
	if known, ok := errors.AsType[*account.RefusedError](err); ok {
		s.event(c, "login refused", "reason", reason(err), "user_id", known.UserID)
		return
	}
	s.event(c, "login refused", "reason", reason(err))
}

// event logs what concerns the security of an account.
func (s *server) event(c *gin.Context, what string, args ...any) {
	args = append(args, "from", clientaddr.Text(s.address(c)), "request_id", c.Writer.Header().Get(problem.RequestIDHeader))
	s.Log.InfoContext(c.Request.Context(), what, args...) //nolint:sloglint // every caller passes a constant
}

func reason(err error) string {
	if e, ok := errors.AsType[*throttle.LimitedError](err); ok {
		return "rate_limited: " + e.Policy
	}
	if p, ok := lookup(err); ok {
		return p.Code
	}
	return "unavailable"
}
