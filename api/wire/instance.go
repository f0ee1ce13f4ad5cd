package wire

// An Instance is what an instance of the deployment last said of itself.
type Instance struct {
	ID         string `json:"id"`   // of the run of the process
	Name       string `json:"name"` // host and process ID
	Version    string `json:"version"`
	Worker     int    `json:"worker"`       // its worker number
	StartedAt  Time   `json:"started_at"`   // by the database's clock
	SeenAt     Time   `json:"seen_at"`      // when it reported, by the database's clock
	Silent     Millis `json:"silent_ms"`    // since then
	NotHeardOf bool   `json:"not_heard_of"` // three reports have failed to come

	Horizon    *Millis `json:"horizon_age_ms,omitempty"` // how long before it knew of every end; nil before its first poll
	Bound      Millis  `json:"revocation_bound_ms"`      // at a greater age it believes nothing that it remembers
	Answers    Answers `json:"answers"`
	Remembered int64   `json:"remembered_logins"` // about how many logins its memory holds

	DatabaseTook   FineMillis `json:"database_ms"`     // for the report before
	DatabaseFailed int        `json:"database_failed"` // reports of the last minute that the database did not take
	Redis          string     `json:"redis"`           // ok, none, or what is wrong with it
	RedisTook      FineMillis `json:"redis_ms"`
	ClockAhead     Millis     `json:"clock_ahead_ms"` // of the database's clock; below 0 it is behind
	Troubles       []string   `json:"troubles"`       // why it should get no requests; for people
}

// Answers are how many tokens were accepted in the minute before, by who answered for
// them.
type Answers struct {
	Memory   uint64 `json:"memory"`
	Redis    uint64 `json:"redis"`
	Database uint64 `json:"database"`
}

// Complete is documented in the package.
func (i Instance) Complete() bool {
	return i.ID != "" && !i.SeenAt.IsZero() && i.Silent.Sane() && i.Bound.Sane() && i.DatabaseTook.Sane() && i.RedisTook.Sane() &&
		(i.Horizon == nil || i.Horizon.Sane()) && (i.ClockAhead.Sane() || (-i.ClockAhead).Sane())
}
