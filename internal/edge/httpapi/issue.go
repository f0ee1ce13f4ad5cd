package httpapi

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// issueRoutes are for issuers: services that authenticate users themselves.
func (s *server) issueRoutes(v1 gin.IRouter) {
	v1.POST("/issue", s.admitKey(servicekey.Issue), s.do(s.quotaOfOne), s.do(s.issue))
}

// issueRequest is what an issuer sends.
type issueRequest struct {
	UserID     text        `json:"user_id"`
	Username   text        `json:"username"`
	ExternalID text        `json:"external_id"`
	Create     bool        `json:"create"`
	Method     text        `json:"method"`
	AuthTime   given[text] `json:"auth_time"`
	Code       text        `json:"code"`
	Device     described   `json:"device"`
	End        text        `json:"end_session"`
	Address    text        `json:"client_ip"`
	Credential text        `json:"device_credential"`
}

// issue opens a login of a user whom the service has authenticated.
func (s *server) issue(c *gin.Context) error {
	var in issueRequest
	body, err := bindBody(c, &in)
	if err != nil {
		return err
	}
	ask, at, device, err := s.readIssue(&in)
	if err != nil {
		return err
	}
	if ask.Request, err = requestOf(c.Request.Header, body); err != nil {
		return err
	}
	scopes, _ := c.Value(keyScopes).(servicekey.Scopes)
	ask.AnyRole = scopes.Has(servicekey.IssueAnyRole)
	by := s.client(c)
	by.By.Address, by.Device = clientaddr.Text(by.Address), device
	by.Credential, _ = ratelimit.ParseDeviceCredential(string(in.Credential)) // as at a login
	if at.IsValid() {
		by.Address = at.Unmap() // as that of a connection
	}
	begun, err := s.Own.Issue(c.Request.Context(), by, ask)
	if full, ok := errors.AsType[*login.NoRoomError](err); ok {
		return noRoom(c, full)
	}
	if err != nil {
		return gone(err)
	}
	who := &begun.Identity
	return answer(c, http.StatusOK, struct {
		openedLogin
		UserID     wire.ID   `json:"user_id"`
		Username   string    `json:"username"`
		Created    bool      `json:"created"`
		AuthMethod string    `json:"auth_method"`
		AuthTime   wire.Time `json:"auth_time"`
		Credential string    `json:"device_credential"`
	}{opened(&begun.Opened, device), who.UserID, who.Username, begun.Created, who.AuthMethod, wire.At(who.AuthTime), begun.DeviceCredential.Reveal()})
}

// readIssue reads what a request asks for, and from where the user logs in, if it says so. It
// fails with an [*invalid.Error].
func (s *server) readIssue(in *issueRequest) (ask login.Issue, at netip.Addr, on *session.Device, err error) {
	wrong := &invalid.Error{}
	ask = login.Issue{
		Username: string(in.Username), ExternalID: string(in.ExternalID), Create: in.Create,
		Method: string(in.Method), Code: secondfactor.NewCode(string(in.Code)),
	}
	if in.UserID != "" {
		if ask.UserID, err = idworker.ParseID(string(in.UserID)); err != nil {
			wrong.Add("user_id", "malformed", "must be the ID of a user")
		}
	}
	if in.AuthTime.value != nil {
		if ask.AuthTime, err = wire.ParseTime(string(*in.AuthTime.value)); err != nil {
			wrong.Add("auth_time", "malformed", "must be a time as RFC 3339 has it, or left out")
		}
	}
	if in.Address != "" {
		if at, err = netip.ParseAddr(string(in.Address)); err != nil || at.Zone() != "" {
			wrong.Add("client_ip", "malformed", "must be an IP address, or left out")
		}
	}
	ask.Instead, err = endSession(in.End)
	wrong.Take(err)
	on, err = session.ParseDevice(s.InForce.Current().DeviceClasses(), string(in.Device.class), string(in.Device.name), string(in.Device.id))
	wrong.Take(err)
	return ask, at, on, wrong.OrNil()
}

// idempotencyHeader is what a client calls a request that it may send again
// (draft-ietf-httpapi-idempotency-key-header).
const idempotencyHeader = "Idempotency-Key"

// maxRequestName is the length of the longest name of a request, in bytes.
const maxRequestName = 255

// requestOf is what identifies a request that may be sent again; nil if it has no name. A name is
// printable ASCII. The draft has it in quotes, and many clients leave them out: both are the
// same name.
func requestOf(h http.Header, body []byte) (*session.Request, error) {
	values := h.Values(idempotencyHeader)
	if len(values) == 0 {
		return nil, nil //nolint:nilnil // no name, and no error
	}
	name := values[0]
	if len(name) >= 2 && name[0] == '"' && name[len(name)-1] == '"' {
		name = name[1 : len(name)-1]
	}
	strange := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	if len(values) > 1 || name == "" || len(name) > maxRequestName || strings.ContainsFunc(name, strange) {
		return nil, invalid.Of("idempotency_key", "malformed", "must be, in the header Idempotency-Key, one text of 1 to 255 printable ASCII characters without spaces, such as a UUID, in quotes or without")
	}
	return &session.Request{Name: sha256.Sum256([]byte(name)), Body: sha256.Sum256(body)}, nil
}
