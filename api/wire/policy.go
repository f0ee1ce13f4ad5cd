package wire

// A Policy says how long logins last, and how much strangers may try.
type Policy struct {
	IdleTimeout      Seconds `json:"idle_timeout_seconds"`      // a login that is not used for this long ends
	AbsoluteLifetime Seconds `json:"absolute_lifetime_seconds"` // a login this old ends, used or not
	TouchInterval    Seconds `json:"touch_interval_seconds"`    // the time of last use is written at most this often
	SweepSchedule    string  `json:"sweep_schedule"`            // a cron expression in UTC, or @every and a duration
	MaxSessions      int     `json:"max_sessions,omitempty"`    // how many sessions a user has at once; 0 from a server of an earlier version
	Limits           *Limits `json:"limits,omitempty"`          // nil for those that cannot be read

	// OverLimit is what a login above the number of sessions does: ReplaceOldest or Refuse;
	// empty from a server of an earlier version.
	OverLimit string `json:"over_limit,omitempty"`
	// DeviceClasses are the classes that a client may name.
	DeviceClasses []string `json:"device_classes,omitempty"`
	// Overrides are what differs by device class and by role.
	Overrides []Override `json:"overrides,omitempty"`

	Version   int64  `json:"version"`              // 1 for the first, raised by every change
	UpdatedAt Time   `json:"updated_at,omitzero"`  // zero for the first version, which no operator has set
	UpdatedBy string `json:"updated_by,omitempty"` // empty for that
	Note      string `json:"note"`                 // why
}

// Complete is documented in the package.
func (p Policy) Complete() bool {
	for _, s := range []Seconds{p.IdleTimeout, p.AbsoluteLifetime, p.TouchInterval} {
		if s == 0 || !s.Sane() {
			return false
		}
	}
	for _, o := range p.Overrides {
		if !o.Sane() {
			return false
		}
	}
	return p.Version > 0 && p.MaxSessions >= 0 && (p.Limits == nil || p.Limits.Complete())
}

// What a login above the number of sessions does.
const (
	ReplaceOldest = "replace_oldest" // it ends the session that was least recently used
	Refuse        = "refuse"         // it is refused
)

// An Override is what differs from a policy for the logins on devices of one class, or for
// those of users of one role: either is set. What is 0 does not differ. Of overrides that
// match a login, the shortest time counts.
type Override struct {
	DeviceClass      string  `json:"device_class,omitempty"`
	Role             string  `json:"role,omitempty"`
	IdleTimeout      Seconds `json:"idle_timeout_seconds,omitempty"`
	AbsoluteLifetime Seconds `json:"absolute_lifetime_seconds,omitempty"`
	TouchInterval    Seconds `json:"touch_interval_seconds,omitempty"`
	MaxSessions      int     `json:"max_sessions,omitempty"` // on devices of that class
}

// Sane reports whether o can be.
func (o Override) Sane() bool {
	return (o.DeviceClass == "") != (o.Role == "") && o.IdleTimeout.Sane() && o.AbsoluteLifetime.Sane() && o.TouchInterval.Sane() && o.MaxSessions >= 0
}

// A PolicyChanged is a change that was made, or asked about: the policy that is in
// force now, or, of a dry run, that would be.
type PolicyChanged struct {
	Policy
	DryRun bool    `json:"dry_run"`
	Effect *Effect `json:"effect"` // never nil in an answer
}

// Complete is documented in the package.
func (c PolicyChanged) Complete() bool {
	return c.Policy.Complete() && c.Effect != nil && c.Effect.Sane()
}

// An Effect is what a change of the policy does to the logins that live.
type Effect struct {
	Live            Estimate `json:"live"`
	EndsNow         Estimate `json:"ends_now"`
	EndsWithinAHour Estimate `json:"ends_within_hour"` // if they are not used
	// BeyondLimit is about those of EndsNow that a lower number of sessions ends, of a user
	// or on a class of devices; nil if none is lower.
	BeyondLimit *BeyondLimit `json:"beyond_limit,omitempty"`
}

// A BeyondLimit is how many sessions are too many, and of how many users.
type BeyondLimit struct {
	Sessions Estimate `json:"sessions"`
	Users    Estimate `json:"users"`
}

// Sane reports whether e can be.
func (e Effect) Sane() bool {
	return e.Live.Sane() && e.EndsNow.Sane() && e.EndsWithinAHour.Sane() &&
		(e.BeyondLimit == nil || e.BeyondLimit.Sessions.Sane() && e.BeyondLimit.Users.Sane())
}

// An Estimate is a number, and how far it is off at most in 19 cases of 20. An
// Error of 0 means that the number is exact.
type Estimate struct {
	Count int64 `json:"count"`
	Error int64 `json:"error"`
}

// Sane reports whether e can be.
func (e Estimate) Sane() bool { return e.Count >= 0 && e.Error >= 0 }

// Limits are how much strangers may try. In a policy none is nil.
type Limits struct {
	LoginPlace   []Limit `json:"login_place"`   // for one account from one place: rules that hold together, the shortest period first
	LoginAccount *Limit  `json:"login_account"` // for one account from where it was not logged in to before
	LoginAddress *Limit  `json:"login_address"` // for one address, whatever the account
	Register     *Limit  `json:"register"`      // for new accounts from one address
	Introspect   *Limit  `json:"introspect"`    // for one service: tokens that it asks about, logins that it opens, names that it asks for
}

// A Limit allows Count attempts at once, and Count more in each Period, evenly.
type Limit struct {
	Count  int64   `json:"count"`
	Period Seconds `json:"period_seconds"`
}

// Sane reports whether l can be.
func (l Limit) Sane() bool { return l.Count > 0 && l.Period > 0 && l.Period.Sane() }

// Complete is documented in the package.
func (l *Limits) Complete() bool {
	for _, r := range []*Limit{l.LoginAccount, l.LoginAddress, l.Register, l.Introspect} {
		if r == nil || !r.Sane() {
			return false
		}
	}
	for _, r := range l.LoginPlace {
		if !r.Sane() {
			return false
		}
	}
	return len(l.LoginPlace) > 0
}
