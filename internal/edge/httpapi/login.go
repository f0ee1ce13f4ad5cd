package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
	"github.com/flakepass/flakepass/internal/edge/render"
)

type credentials struct {
	Username text `json:"username"`
	Password text `json:"password"`
}

// described is what a client says of its device.
type described struct{ class, name, id text }

// UnmarshalJSON takes an object and nothing else, with no members of other names.
func (d *described) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return errBody
	}
	var in struct {
		Class text `json:"class"`
		Name  text `json:"name"`
		ID    text `json:"id"`
	}
	err := json.Unmarshal(b, &in, json.RejectUnknownMembers(true))
	*d = described{in.Class, in.Name, in.ID}
	return err
}

func (s *server) login(c *gin.Context) error {
	noStore(c)
	var in struct {
		credentials
		Code       text      `json:"code"`
		Credential text      `json:"device_credential"`
		Device     described `json:"device"`
		End        text      `json:"end_session"`
		Ticket     text      `json:"ticket"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	device, err := session.ParseDevice(s.InForce.Current().DeviceClasses(), string(in.Device.class), string(in.Device.name), string(in.Device.id))
	if err != nil {
		return err
	}
	from := s.client(c)
	from.Device = device
	from.Credential, _ = ratelimit.ParseDeviceCredential(string(in.Credential)) // what is none is of no use, and no reason to refuse
	end, err := endSession(in.End)
	if err != nil {
		return err
	}
	var begun login.Begun
	if in.Ticket != "" {
		if in.credentials != (credentials{}) || in.Code != "" {
			return invalid.Of("ticket", "ambiguous", "stands for username, password and code; send it without them")
		}
		begun, err = s.Own.Instead(c.Request.Context(), from, "", string(in.Ticket), end)
	} else {
		begun, err = s.Own.Login(c.Request.Context(), from, login.Credentials{
			Username: string(in.Username), Password: account.NewPassword(string(in.Password)), Code: secondfactor.NewCode(string(in.Code)), Instead: end,
		})
	}
	if full, ok := errors.AsType[*login.NoRoomError](err); ok {
		return noRoom(c, full)
	}
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, struct {
		openedLogin
		Credential string `json:"device_credential"`
	}{opened(&begun.Opened, device), begun.DeviceCredential.Reveal()})
}

// openedLogin is a login that has begun, with its token: what the answers to a login and to an
// issue have in common.
type openedLogin struct {
	Token             string      `json:"token"`
	TokenType         string      `json:"token_type"`
	SessionID         wire.ID     `json:"session_id"`
	Device            wire.Device `json:"device"`
	ExpiresAt         wire.Time   `json:"expires_at"`
	IdleExpiresAt     wire.Time   `json:"idle_expires_at"`
	DeletionCancelled bool        `json:"deletion_cancelled,omitempty"`
}

func opened(o *session.Opened, on *session.Device) openedLogin {
	who := &o.Identity
	return openedLogin{
		Token: o.Token.Reveal(), TokenType: "Bearer", SessionID: who.SessionID, Device: wire.Device{Class: on.ClassName(), Name: on.Label()},
		ExpiresAt: wire.At(who.ExpiresAt), IdleExpiresAt: wire.At(who.IdleExpiresAt), DeletionCancelled: o.DeletionCancelled,
	}
}

// noRoom answers for a login that the policy refuses. An issuer gets no ticket.
func noRoom(c *gin.Context, full *login.NoRoomError) error {
	p, _ := lookup(full)
	if p.Ticket = full.Ticket.Reveal(); p.Ticket == "" {
		p.Detail = "choose one of sessions, and send this again with its id as end_session, and with a new Idempotency-Key"
	}
	p.Sessions = render.All(full.Logins, func(l *session.Login) wire.MySession { return render.MySession(l, 0) })
	writeProblem(c, p)
	return nil
}

// endSession reads the login that is to end for another one; 0 is none.
func endSession(text text) (idworker.ID, error) {
	if text == "" {
		return 0, nil
	}
	id, err := idworker.ParseID(string(text))
	if err != nil {
		return 0, invalid.Of("end_session", "malformed", "must be the id of one of sessions")
	}
	return id, nil
}

// logout succeeds also for a token that is dead already, or was never alive,
// so that nobody can test tokens with it. To log out everywhere takes a token that lives: the
// token of a login that is over may have been stolen since.
func (s *server) logout(c *gin.Context) error {
	noStore(c)
	t, err := flakepass.Credential(c.Request.Header, s.TokenHeader)
	if err != nil {
		s.credentialRefused(c, err)
		s.guard.Refuse(c.Writer, c.Request, err)
		return nil
	}
	everywhere, err := wantsEverywhere(c)
	switch {
	case err != nil:
		return err
	case everywhere:
		if s.admitTo(c, s.leaving); !c.IsAborted() {
			s.unchanging(c)
		}
		if c.IsAborted() {
			return nil
		}
		err = s.Own.LogoutEverywhere(c.Request.Context(), s.client(c))
	default:
		err = s.Own.Logout(c.Request.Context(), s.client(c), t)
	}
	return s.ended(c, err)
}

func (s *server) me(c *gin.Context) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	answer := wire.Me{Username: who.Username, Role: who.Role, Session: wire.Session{
		ID: who.SessionID, Device: wire.Device{Class: who.DeviceClass}, IssuedAt: wire.At(who.IssuedAt), LastSeenAt: wire.At(who.LastSeenAt), ExpiresAt: wire.At(who.ExpiresAt), IdleExpiresAt: wire.At(who.IdleExpiresAt), Act: wire.ActOf(who.Act),
	}}
	// Not c.JSON: this is the most frequent answer with a body.
	c.Writer.Header()["Content-Type"] = jsonType
	_, _ = c.Writer.Write(answer.AppendJSON(make([]byte, 0, 320))) // an error: the client has gone
	return nil
}

// jsonType is shared by all answers: nothing changes the values of a header in place.
var jsonType = []string{"application/json; charset=utf-8"}

// verify answers a proxy. It sets all headers every time, so that a proxy that
// copies them overwrites what a client sent. The signature is for the request
// that the proxy says it asks about: a caller with a token may say anything there,
// and has the token anyway.
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

// ended answers for what has ended logins, and has no document to answer with.
func (s *server) ended(c *gin.Context, err error) error {
	switch {
	case errors.Is(err, session.ErrUnpublished):
		s.pending(c)
	case err != nil:
		return gone(err)
	default:
		c.Status(http.StatusNoContent)
	}
	return nil
}

// pending says that what was done is effective within the bound.
func (s *server) pending(c *gin.Context) {
	c.JSON(http.StatusAccepted, wire.Pending{Within: wire.Millis(s.Bound)})
}

// gone makes what is not there a resource that is not there.
func gone(err error) error {
	if errors.Is(err, account.ErrNotFound) || errors.Is(err, session.ErrNotFound) {
		return errNotFound
	}
	return err
}
