package wire

import (
	"errors"
	"strconv"
)

// SlotsHeader says with the value 1 that who asks about many tokens knows of slots.
// An answer about a login in another slot than 0 may be repeated by nobody else: who
// knows ends by their user alone would miss its end, which is a [SlotEnd].
const SlotsHeader = "X-Auth-Slots"

// MaxSlots is how many slots a user has at most.
const MaxSlots = 32

// ErrBadSlot says that a text is not the number of a slot.
var ErrBadSlot = errors.New("wire: not a slot")

// A Slot is one of the places in which a user has logins, one at a time in each. A
// login stays in its slot. Slots are numbered from 0.
type Slot uint8

// UnmarshalJSON takes a number below [MaxSlots] and nothing else, not null either: a
// login that is taken for one in slot 0 would outlive its end.
func (s *Slot) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 8)
	if err != nil || n >= MaxSlots {
		return ErrBadSlot
	}
	*s = Slot(n)
	return nil
}

// Verifications is the answer to a service that asked about many tokens.
type Verifications struct {
	Now           Time           `json:"now"`
	Bound         Millis         `json:"bound_ms"`
	Rule          *Rule          `json:"policy"`
	Verifications []Verification `json:"verifications"` // in the order of the question
	Used          []bool         `json:"used"`
}

// States of a [Verification].
const (
	Alive     = "alive"
	Refused   = "refused"
	Undecided = "undecided"
)

// A Verification is what is said of one token.
type Verification struct {
	State    string    `json:"state"`
	Identity *Identity `json:"identity,omitempty"`     // if it is alive
	AsOfAge  *Millis   `json:"as_of_age_ms,omitempty"` // if it is alive
	Believe  *Millis   `json:"believe_ms,omitempty"`   // if it is alive
	Slot     Slot      `json:"slot,omitempty"`         // if it is alive
	Code     string    `json:"code,omitempty"`         // if it is refused
	Title    string    `json:"title,omitempty"`
}

// An Identity is who holds a token.
type Identity struct {
	UserID        ID     `json:"user_id"`
	Username      string `json:"username"`
	Role          string `json:"role"`
	SessionID     ID     `json:"session_id"`
	DeviceClass   string `json:"device_class,omitempty"` // empty from a server of an earlier version
	Act           *Act   `json:"act,omitempty"`          // who acts for the user; nil: the user
	AuthMethod    string `json:"auth_method,omitempty"`  // empty from a server of an earlier version
	AuthTime      Time   `json:"auth_time,omitzero"`     // zero there
	IssuedAt      Time   `json:"issued_at"`
	LastSeenAt    Time   `json:"last_seen_at"`
	ExpiresAt     Time   `json:"expires_at"`
	IdleExpiresAt Time   `json:"idle_expires_at"`
	ExpiresIn     Millis `json:"expires_in_ms"`
	IdleExpiresIn Millis `json:"idle_expires_in_ms"`
}

// A Rule is what of the policy decides when a login is over. It is an event of the
// stream of revocations, too.
type Rule struct {
	Version      *int64 `json:"version"` // never nil in an answer
	Idle         Millis `json:"idle_ms"`
	Absolute     Millis `json:"absolute_ms"`
	Touch        Millis `json:"touch_ms"`
	IdleBase     Time   `json:"idle_base"`
	AbsoluteBase Time   `json:"absolute_base"`
	// Scopes are the times of the logins to which others apply, by device class and role.
	Scopes []ScopeRule `json:"scopes,omitempty"`
}

// A ScopeRule is the times of the logins on devices of a class, of users of a role. An empty
// class is every class, and an empty role every role, that no scope of the rule names.
type ScopeRule struct {
	DeviceClass  string `json:"device_class,omitempty"`
	Role         string `json:"role,omitempty"`
	Idle         Millis `json:"idle_ms"`
	Absolute     Millis `json:"absolute_ms"`
	Touch        Millis `json:"touch_ms"`
	IdleBase     Time   `json:"idle_base"`
	AbsoluteBase Time   `json:"absolute_base"`
}

// Complete is documented in the package.
func (r *Rule) Complete() bool {
	if r == nil || r.Version == nil || *r.Version < 0 {
		return false
	}
	sane := func(idle, absolute, touch Millis) bool {
		return idle > 0 && absolute > 0 && touch > 0 && idle.Sane() && absolute.Sane() && touch.Sane()
	}
	for i := range r.Scopes {
		if s := &r.Scopes[i]; !sane(s.Idle, s.Absolute, s.Touch) {
			return false
		}
	}
	return sane(r.Idle, r.Absolute, r.Touch)
}

// A Start is the first event of the stream of revocations, reset or resumed.
type Start struct {
	Covers *Millis `json:"covers_ms"` // never nil in an answer
	Bound  Millis  `json:"bound_ms"`
	Every  Millis  `json:"every_ms"`
}

// Complete is documented in the package.
func (s *Start) Complete() bool {
	return s.Covers != nil && s.Covers.Sane() && s.Bound > 0 && s.Every > 0 && s.Every.Sane()
}

// An End is an event of the stream: logins of a user in slot 0 up to one are over.
type End struct {
	UserID ID     `json:"user_id"`
	Floor  ID     `json:"floor"`
	Code   string `json:"code"`
}

// A SlotEnd is an event of the stream: logins of a user in another slot than 0 up to
// one are over. It is an event of its own, because one who does not know of slots would
// take an [End] for the end of logins in all of them.
type SlotEnd struct {
	UserID ID     `json:"user_id"`
	Slot   Slot   `json:"slot"` // never 0
	Floor  ID     `json:"floor"`
	Code   string `json:"code"`
}

// Renamed is an event of the stream: a user has another username, and goes on.
type Renamed struct {
	UserID ID `json:"user_id"`
}

// A Floor is an event of the stream: all logins up to one are over.
type Floor struct {
	Floor ID `json:"floor"`
}

// A Beat is an event of the stream that says that it goes on.
type Beat struct {
	Elapsed *Millis `json:"elapsed_ms"` // never nil in an answer
	Horizon *Millis `json:"horizon_age_ms,omitempty"`
	Now     Time    `json:"now"`
}

// Complete is documented in the package.
func (b *Beat) Complete() bool {
	return b.Elapsed != nil && b.Elapsed.Sane() && (b.Horizon == nil || b.Horizon.Sane()) && !b.Now.IsZero()
}

// A ServiceKey is the key of a service, without its secret.
type ServiceKey struct {
	ID        ID       `json:"id"` // public
	UserID    ID       `json:"user_id"`
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes"` // verify, revoke; a newer server may know more
	CreatedAt Time     `json:"created_at"`
	Creator   Party    `json:"created_by,omitzero"` // zero for a command on the server
	ExpiresAt Time     `json:"expires_at,omitzero"` // zero: never
	RevokedAt Time     `json:"revoked_at,omitzero"` // zero: it was not
	UsedAt    Time     `json:"used_at,omitzero"`    // the beginning of the last hour in which it was used; zero: never
}

// Complete is documented in the package.
func (k ServiceKey) Complete() bool {
	return k.ID != 0 && k.UserID != 0 && k.Name != "" && len(k.Scopes) > 0 && !k.CreatedAt.IsZero()
}

// An Introspection is the answer to a resource server about a token that is good (RFC 7662
// section 2.2). Of every other text nothing but Active is said. Times are Unix seconds, rounded
// down.
type Introspection struct {
	Active      *bool  `json:"active"` // never nil in an answer
	UserID      ID     `json:"sub"`
	Username    string `json:"username"`
	Role        string `json:"role"`
	TokenType   string `json:"token_type"`
	SessionID   ID     `json:"jti"` // a login has one token
	DeviceClass string `json:"device_class"`
	IssuedAt    int64  `json:"iat"`
	ExpiresAt   int64  `json:"exp"`

	Act *Act `json:"act,omitempty"` // the admin who acts for the subject (RFC 8693 section 4.1)

	Methods  []string `json:"amr,omitempty"`      // how the user was authenticated (RFC 8176)
	AuthTime int64    `json:"auth_time,omitzero"` // when (RFC 9470 section 6.2)
}

// Complete is documented in the package.
func (i Introspection) Complete() bool {
	return i.Active != nil && (!*i.Active || i.UserID != 0 && i.Username != "" && i.Role != "" && i.SessionID != 0 && i.IssuedAt > 0 && i.ExpiresAt > 0 &&
		(i.Act == nil || i.Act.Sub != 0))
}
