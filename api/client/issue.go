package client

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// An Issue is what a back end says of a user whom it has authenticated. Exactly one of UserID,
// Username and ExternalID names the user; with Create Username is the name of a new one.
type Issue struct {
	UserID     flakepass.ID
	Username   string
	ExternalID string // what this back end calls the user
	// Create makes the user if none has ExternalID: with the role user and without a password.
	Create bool
	// Method is how the user was authenticated, such as sms: one of those that the operator of
	// the server has set. AuthTime is when; zero: now.
	Method   string
	AuthTime time.Time
	// Code is one of the user's second factor, or a recovery code: after
	// [SecondFactorRequired]. It is ignored where the account has none.
	Code string
	// Device is what the app says of itself, and DeviceID what it keeps on the device: as in
	// [Credentials].
	Device   wire.Device
	DeviceID string
	// DeviceCredential is what the last login to this account on this device has brought: as in
	// [Credentials].
	DeviceCredential DeviceCredential
	// EndSession is a login of the user that ends for this one, as [SessionLimit] lists them;
	// 0 is none.
	EndSession flakepass.ID
	// Address is the address of the user, by which wrong codes are counted; the zero one: that
	// of this back end.
	Address netip.Addr
	// RequestID identifies the request, such as a UUID, so that it may be sent again for ten
	// minutes: the login of an answer that was lost ends for that of the next one. It may be empty.
	RequestID string
}

// An Issued is a login that has begun. The token is the only copy, and for the app.
type Issued struct {
	Login
	UserID   flakepass.ID `json:"user_id"`
	Username string       `json:"username"`
	Created  bool         `json:"created"` // the user was made
	// AuthMethod and AuthTime are as the server keeps them.
	AuthMethod string    `json:"auth_method"`
	AuthTime   wire.Time `json:"auth_time"`
}

// Complete reports whether all is there.
func (i Issued) Complete() bool {
	return i.Login.Complete() && i.UserID != 0 && i.Username != "" && i.AuthMethod != "" && !i.AuthTime.IsZero()
}

// Issue begins a login of a user whom this back end has authenticated: see [Client.AsService]
// for its key, which needs the scope issue. From there on it is like [Client.Login], and fails as
// that does. After [SecondFactorRequired] send it again with Code, and after [SessionLimit], whose
// problem lists the logins of the user, with EndSession: each time with another RequestID.
//
// It also fails with [NotFound] if there is no such user; [UsernameTaken] if the name of a new user is;
// [RoleNotIssuable] for an admin or a service; [ScopeMissing]; and [IdempotencyKeyReused] if another
// request had this RequestID, or if the login of this one has ended meanwhile. After a 5xx or no answer a login may have begun: send it again, with the
// same RequestID.
func (c *Client) Issue(ctx context.Context, i Issue) (Issued, error) {
	ip := ""
	if i.Address.IsValid() {
		ip = i.Address.String()
	}
	return ask[Issued](ctx, c, http.MethodPost, "/v1/issue", struct {
		UserID     wire.ID   `json:"user_id,omitzero"`
		Username   string    `json:"username,omitempty"`
		ExternalID string    `json:"external_id,omitempty"`
		Create     bool      `json:"create,omitempty"`
		Method     string    `json:"method"`
		AuthTime   wire.Time `json:"auth_time,omitzero"`
		Code       string    `json:"code,omitempty"`
		Device     ofDevice  `json:"device,omitzero"`
		End        wire.ID   `json:"end_session,omitzero"`
		Address    string    `json:"client_ip,omitempty"`
		Credential string    `json:"device_credential,omitempty"`
	}{
		i.UserID, i.Username, i.ExternalID, i.Create, i.Method, wire.At(i.AuthTime),
		i.Code, ofDevice{i.Device, i.DeviceID}, i.EndSession, ip, i.DeviceCredential.Reveal(),
	}, func(r *call) {
		if i.RequestID != "" {
			r.header, r.again = http.Header{"Idempotency-Key": {i.RequestID}}, true
		}
	})
}
