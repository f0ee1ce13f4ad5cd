package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// stamp is a time in an answer: RFC 3339 in UTC, to the millisecond. It is a
// string because encoding/json reads again whatever a type marshals by itself.
func stamp(t time.Time) string {
	var room [24]byte
	return string(appendStamp(room[:0], t))
}

func appendStamp(b []byte, t time.Time) []byte {
	t = t.UTC()
	// time has a fast path for this layout, and none for one with milliseconds.
	b = t.AppendFormat(b, time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// stamps are the stamps of four times, which share one allocation.
func stamps(times [4]time.Time) (texts [4]string) {
	var room [4 * 24]byte
	var ends [4]int
	b := room[:0]
	for i, t := range times {
		b = appendStamp(b, t)
		ends[i] = len(b)
	}
	text, from := string(b), 0
	for i, end := range ends {
		texts[i], from = text[from:end], end
	}
	return texts
}

type credentials struct {
	Username text `json:"username"`
	Password text `json:"password"`
}

func (s *server) login(c *gin.Context) error {
	noStore(c)
	var in struct {
		credentials
		Code   text `json:"code"`
		Device text `json:"device_credential"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	from := s.client(c)
	from.Credential, _ = ratelimit.ParseDeviceCredential(string(in.Device)) // what is none is of no use, and no reason to refuse
	begun, err := s.Own.Login(c.Request.Context(), from, login.Credentials{
		Username: string(in.Username), Password: account.NewPassword(string(in.Password)), Code: secondfactor.NewCode(string(in.Code)),
	})
	if err != nil {
		return err
	}
	who := &begun.Identity
	c.JSON(http.StatusOK, struct {
		Token         string `json:"token"`
		TokenType     string `json:"token_type"`
		SessionID     string `json:"session_id"`
		ExpiresAt     string `json:"expires_at"`
		IdleExpiresAt string `json:"idle_expires_at"`
		Device        string `json:"device_credential"`
	}{begun.Token.Reveal(), "Bearer", who.SessionID.String(), stamp(who.ExpiresAt), stamp(who.IdleExpiresAt), begun.Device.Reveal()})
	return nil
}

// logout succeeds also for a token that is dead already, or was never alive:
// it is no way to find out.
func (s *server) logout(c *gin.Context) error {
	noStore(c)
	t, err := flakepass.Credential(c.Request.Header, s.TokenHeader)
	if err != nil {
		s.credentialRefused(c, err)
		s.guard.Refuse(c.Writer, c.Request, err)
		return nil
	}
	err = s.Own.Logout(c.Request.Context(), s.client(c), t)
	if errors.Is(err, session.ErrUntold) {
		c.JSON(http.StatusAccepted, struct {
			EffectiveWithinMS int64 `json:"effective_within_ms"`
		}{s.Bound.Milliseconds()})
		return nil
	}
	return done(c, err)
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
	at := stamps([4]time.Time{who.IssuedAt, who.LastSeenAt, who.ExpiresAt, who.IdleExpiresAt})
	c.JSON(http.StatusOK, me{who.Username, who.Role, mySession{who.SessionID.String(), at[0], at[1], at[2], at[3]}})
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

// event logs what concerns the security of an account.
func (s *server) event(c *gin.Context, what string, args ...any) {
	args = append(args, "from", clientaddr.Text(s.address(c)), "request_id", c.Writer.Header().Get(problem.RequestIDHeader))
	s.Log.InfoContext(c.Request.Context(), what, args...) //nolint:sloglint // every caller passes a constant
}
