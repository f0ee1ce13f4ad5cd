// Package fleet shows people which instances of a deployment run, and how each
// is doing. Every instance reports about itself every few seconds, to the
// database; each of them shows them all.
//
// Nothing depends on a report. One that is late or fails changes no answer and
// no readiness: the instance is shown as missing.
package fleet

import (
	"context"
	"time"
)

const (
	// Every is how often an instance reports.
	Every = 5 * time.Second
	// Late is after how long without a report an instance counts as missing:
	// three reports have failed to come.
	Late = 3 * Every
	// Gone is after how long without a report an instance is forgotten.
	Gone = 10 * time.Minute
	// Most is how many instances a list has. There are no more than 1,024 worker
	// numbers, and hardly a deployment has a tenth.
	Most = 1000
)

// A Report is what an instance says of itself.
type Report struct {
	ID      string // of the run of the process: drawn at random at its start
	Name    string // host and process ID, as the history of the sweep has them
	Version string
	Worker  int           // its worker number
	Up      time.Duration // since the start of the process

	Horizon time.Duration // the age of the last poll for ends that was applied; negative before the first
	Bound   time.Duration // above which it believes nothing that it remembers
	Answers Answers       // in the last minute; in what State of a Reporter returns, since the start
	// Remembered is how many logins its memory holds.
	Remembered int

	DatabaseTook   time.Duration // for the last report that arrived, or for the cleaning if that came after it
	DatabaseFailed int           // reports of the last minute that did not arrive
	Redis          Trouble       // RedisNone, RedisGood, or what is wrong with it
	RedisTook      time.Duration // to keep one value
	Clock          time.Duration // how far this machine's clock is ahead of the database's
	Troubles       []Trouble     // why it should get no requests, as far as it knows without asking
}

// Answers are how many tokens were accepted, by who answered for them. What
// memory had to pass on is Redis and Database together; what Redis had to is
// Database.
type Answers struct{ Memory, Redis, Database uint64 }

// A Seen is a report as the database has it.
type Seen struct {
	Report
	Started time.Time     // by the database's clock
	Heard   time.Time     // when the report came, by the database's clock
	Silent  time.Duration // since then
}

// Late reports whether the last report of the instance is too old: it was
// killed, or does not reach the database.
func (s *Seen) Late() bool { return s.Silent > Late }

// A Store keeps the last report of each instance.
//
// Tell replaces the one with that ID. Leave removes it; one that is not there is
// no error. Clean removes those that did not come for longer than gone, and
// returns the store's clock, and the longest Bound of the reports that are not late; 0 if
// there is none.
type Store interface {
	Tell(ctx context.Context, r Report) error
	Leave(ctx context.Context, id string) error
	Clean(ctx context.Context, gone time.Duration) (now time.Time, longest time.Duration, err error)
}
