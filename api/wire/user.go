package wire

// A User is an account.
type User struct {
	ID         ID     `json:"id"` // never changes, never reused
	Username   string `json:"username"`
	ExternalID string `json:"external_id,omitempty"` // what another system calls the user; empty if nothing
	Role       string `json:"role"`                  // user, service or admin
	HasFactor  bool   `json:"second_factor"`         // a login needs a code beside the password
	DisabledAt Time   `json:"disabled_at,omitzero"`  // zero for one that is enabled
	CreatedAt  Time   `json:"created_at"`
	UpdatedAt  Time   `json:"updated_at"`

	// DeletionAskedAt is when the user asked for the account to be deleted; zero for one that
	// did not, or has logged in since.
	DeletionAskedAt Time `json:"deletion_asked_at,omitzero"`

	// Aliases are the mail addresses and phone numbers with which the user may log in, too.
	// Lists of users have none.
	Aliases []string `json:"aliases,omitempty"`
}

// Complete is documented in the package.
func (u User) Complete() bool {
	return u.ID != 0 && u.Username != "" && u.Role != "" && !u.CreatedAt.IsZero()
}

// A Person is a user, and the logins of the user that live.
type Person struct {
	User
	Session  *Session  `json:"session,omitempty"`  // the newest login of the user
	Sessions []Session `json:"sessions,omitempty"` // all, the newest first; empty from a server of an earlier version
}

// Complete is documented in the package.
func (p Person) Complete() bool {
	for _, s := range p.Sessions {
		if !s.Complete() {
			return false
		}
	}
	return p.User.Complete() && (p.Session == nil || p.Session.Complete())
}

// A Session is a login that lives.
type Session struct {
	ID            ID     `json:"id"` // public
	Device        Device `json:"device"`
	IssuedAt      Time   `json:"issued_at"`
	LastSeenAt    Time   `json:"last_seen_at"` // as the server has written it: about a second late, at most once per touch interval
	ExpiresAt     Time   `json:"expires_at"`
	IdleExpiresAt Time   `json:"idle_expires_at"`

	// AuthMethod is how the user was authenticated, and AuthTime when: pwd is a password, and
	// other methods are those of an issuer. Me, and a server of an earlier version, have neither.
	AuthMethod string `json:"auth_method,omitempty"`
	AuthTime   Time   `json:"auth_time,omitzero"`

	// IdleBy and ExpiresBy name the override of the policy that sets the time, such as
	// class:phone or role:admin; empty: the policy itself does. Me has neither.
	IdleBy    string `json:"idle_expires_by,omitempty"`
	ExpiresBy string `json:"expires_by,omitempty"`

	Act *Act `json:"act,omitempty"` // nil: a login of the user
}

// An Impersonation is a session in which an admin acts for a user.
type Impersonation struct {
	SessionID ID     `json:"session_id"`
	UserID    ID     `json:"user_id"`
	Username  string `json:"username"`
	Act       *Act   `json:"act"`
	ExpiresAt Time   `json:"expires_at"`
}

// Complete is documented in the package.
func (i Impersonation) Complete() bool {
	return i.SessionID != 0 && i.UserID != 0 && i.Username != "" && i.Act.Admin() != 0 && !i.ExpiresAt.IsZero()
}

// A Device is what a client says of itself when it logs in. It is shown to people, and
// never trusted.
type Device struct {
	// Class is one of the classes of the policy; a new deployment has phone, tablet, desktop, web,
	// tv and other. Empty in a request is other.
	Class string `json:"class,omitempty"`
	// Name is for people. The server leaves out what does not show, and keeps at most 64
	// characters. [Me] has none.
	Name string `json:"name,omitempty"`
}

// Complete is documented in the package.
func (s Session) Complete() bool {
	return s.ID != 0 && !s.IssuedAt.IsZero() && !s.LastSeenAt.IsZero() && !s.ExpiresAt.IsZero() && !s.IdleExpiresAt.IsZero() && (s.Act == nil || s.Act.Sub != 0)
}

// A UserSession is a login that lives, and whose it is.
type UserSession struct {
	Session
	UserID   ID     `json:"user_id"`
	Username string `json:"username"`
	Role     string `json:"role"`
}

// Complete is documented in the package.
func (s UserSession) Complete() bool {
	return s.Session.Complete() && s.UserID != 0 && s.Username != "" && s.Role != ""
}

// An OpenReset is a started reset of a password that can be used. Its token is known to
// those only to whom it was given.
type OpenReset struct {
	ID        ID     `json:"id"` // of the audit event of its start
	UserID    ID     `json:"user_id"`
	Username  string `json:"username"`
	Issuer    Party  `json:"issuer"`
	IssuedAt  Time   `json:"issued_at"`
	ExpiresAt Time   `json:"expires_at"`
}

// Complete is documented in the package.
func (r OpenReset) Complete() bool {
	return r.ID != 0 && r.UserID != 0 && r.Username != "" && !r.IssuedAt.IsZero() && !r.ExpiresAt.IsZero()
}

// Withdrawn says how many started resets were ended.
type Withdrawn struct {
	Withdrawn *int `json:"withdrawn"` // never nil in an answer
}

// Complete is documented in the package.
func (w Withdrawn) Complete() bool { return w.Withdrawn != nil }

// A LoggedOutAll says what the end of every login did.
type LoggedOutAll struct {
	Ended  *Estimate `json:"ended,omitempty"`     // how many logins lived until then; nil if they could not be counted in time
	Within Millis    `json:"effective_within_ms"` // by when every instance refuses them
}

// Complete is documented in the package.
func (a LoggedOutAll) Complete() bool {
	return a.Within > 0 && a.Within.Sane() && (a.Ended == nil || a.Ended.Sane())
}

// Stats are how many users there are, and how many logins live. Large numbers are
// estimates.
type Stats struct {
	Users      Estimate `json:"users"`
	Roles      Roles    `json:"roles"`
	Disabled   Estimate `json:"disabled"`
	LiveLogins Estimate `json:"live_logins"`
	// ByClass is how many of them are on devices of each class; nil from a server of an
	// earlier version.
	ByClass []ClassLogins `json:"live_logins_by_device_class,omitempty"`
}

// ClassLogins is how many logins are on devices of a class.
type ClassLogins struct {
	DeviceClass string   `json:"device_class"`
	Logins      Estimate `json:"logins"`
}

// Roles are how many users have each role.
type Roles struct {
	User    Estimate `json:"user"`
	Service Estimate `json:"service"`
	Admin   Estimate `json:"admin"`
}

// Complete is documented in the package.
func (s Stats) Complete() bool {
	for _, e := range []Estimate{s.Users, s.Roles.User, s.Roles.Service, s.Roles.Admin, s.Disabled, s.LiveLogins} {
		if !e.Sane() {
			return false
		}
	}
	return s.Users.Count > 0 // who asks is one
}
