package wire

// A Policy says how long logins last, and how much strangers may try.
type Policy struct {
	IdleTimeout      Seconds `json:"idle_timeout_seconds"`      // a login that is not used for this long ends
	AbsoluteLifetime Seconds `json:"absolute_lifetime_seconds"` // a login this old ends, used or not
	TouchInterval    Seconds `json:"touch_interval_seconds"`    // the time of last use is written at most this often
	SweepSchedule    string  `json:"sweep_schedule"`            // a cron expression in UTC, or @every and a duration
	Limits           *Limits `json:"limits,omitempty"`          // nil for those that cannot be read

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
	return p.Version > 0 && (p.Limits == nil || p.Limits.Complete())
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
}

// Sane reports whether e can be.
func (e Effect) Sane() bool { return e.Live.Sane() && e.EndsNow.Sane() && e.EndsWithinAHour.Sane() }

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
	Introspect   *Limit  `json:"introspect"`    // for one caller of introspection and revocation
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
