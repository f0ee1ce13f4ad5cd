package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// An Instance is what an instance of the deployment last said of itself. As JSON it
// is as the server sends it.
type Instance struct {
	ID         string // of the run of the process
	Name       string // host and process ID
	Version    string
	Worker     int           // its worker number
	StartedAt  time.Time     // by the database's clock
	SeenAt     time.Time     // when it reported, by the database's clock
	Silent     time.Duration // since then
	NotHeardOf bool          // three reports have failed to come

	Horizon time.Duration // how long before it knew of every end; -1 before its first poll
	Bound   time.Duration // at a greater age it believes nothing that it remembers
	// Memory, Redis and Database are how many tokens were accepted in the minute
	// before, by who answered for them.
	Memory, Redis, Database int64
	Remembered              int64 // about how many logins its memory holds

	DatabaseTook   time.Duration // for the report before
	DatabaseFailed int           // reports of the last minute that the database did not take
	RedisState     string        // ok, none, or what is wrong with it
	RedisTook      time.Duration
	ClockAhead     time.Duration // of the database's clock; below 0 it is behind
	Troubles       []string      // why it should get no requests; for people
}

// Instances are those of the deployment, whichever is asked: those that reported
// last come first, at most 1,000.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	list, err := get[wireInstances](ctx, c, read("/v1/admin/instances", nil))
	if err != nil {
		return nil, err
	}
	found := make([]Instance, len(list.Instances))
	for i, w := range list.Instances {
		found[i] = w.instance()
	}
	return found, nil
}

type wireInstances struct {
	Instances []wireInstance `json:"instances"`
}

func (w wireInstances) complete() bool { return w.Instances != nil && whole(w.Instances) }

// A wireTime is written as the server does, with three digits of milliseconds.
type wireTime struct{ time.Time }

func (t wireTime) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

type wireInstance struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Worker     int      `json:"worker"`
	StartedAt  wireTime `json:"started_at"`
	SeenAt     wireTime `json:"seen_at"`
	SilentMS   int64    `json:"silent_ms"`
	NotHeardOf bool     `json:"not_heard_of"`
	HorizonMS  *int64   `json:"horizon_age_ms,omitempty"`
	BoundMS    int64    `json:"revocation_bound_ms"`
	Answers    struct {
		Memory   int64 `json:"memory"`
		Redis    int64 `json:"redis"`
		Database int64 `json:"database"`
	} `json:"answers"`
	Remembered     int64    `json:"remembered_logins"`
	DatabaseMS     float64  `json:"database_ms"`
	DatabaseFailed int      `json:"database_failed"`
	Redis          string   `json:"redis"`
	RedisMS        float64  `json:"redis_ms"`
	ClockMS        int64    `json:"clock_ahead_ms"`
	Troubles       []string `json:"troubles"`
}

func (w wireInstance) complete() bool {
	for _, ms := range []int64{w.SilentMS, w.BoundMS, int64(w.DatabaseMS), int64(w.RedisMS)} {
		if ms < 0 || ms > longest {
			return false
		}
	}
	if w.HorizonMS != nil && (*w.HorizonMS < 0 || *w.HorizonMS > longest) {
		return false
	}
	return w.ID != "" && !w.SeenAt.IsZero() && w.ClockMS >= -longest && w.ClockMS <= longest
}

func (w wireInstance) instance() Instance {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	i := Instance{
		ID: w.ID, Name: w.Name, Version: w.Version, Worker: w.Worker, StartedAt: w.StartedAt.Time, SeenAt: w.SeenAt.Time,
		Silent: time.Duration(w.SilentMS) * time.Millisecond, NotHeardOf: w.NotHeardOf, Horizon: -1, Bound: time.Duration(w.BoundMS) * time.Millisecond,
		Memory: w.Answers.Memory, Redis: w.Answers.Redis, Database: w.Answers.Database, Remembered: w.Remembered,
		DatabaseTook: ms(w.DatabaseMS), DatabaseFailed: w.DatabaseFailed, RedisState: w.Redis, RedisTook: ms(w.RedisMS),
		ClockAhead: time.Duration(w.ClockMS) * time.Millisecond, Troubles: w.Troubles,
	}
	if w.HorizonMS != nil {
		i.Horizon = time.Duration(*w.HorizonMS) * time.Millisecond
	}
	return i
}

// MarshalJSON writes i with the names and units of the API, to the microsecond.
func (i Instance) MarshalJSON() ([]byte, error) { return json.Marshal(i.wire()) }

// UnmarshalJSON reads what MarshalJSON writes, which is also what the server sends.
func (i *Instance) UnmarshalJSON(b []byte) error {
	var w wireInstance
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if !w.complete() {
		return errors.New("client: this is no instance: a field is missing, or its value cannot be")
	}
	*i = w.instance()
	return nil
}

func (i *Instance) wire() wireInstance {
	ms := func(d time.Duration) float64 { return float64(d.Round(time.Microsecond).Microseconds()) / 1000 }
	w := wireInstance{
		ID: i.ID, Name: i.Name, Version: i.Version, Worker: i.Worker, StartedAt: wireTime{i.StartedAt}, SeenAt: wireTime{i.SeenAt},
		SilentMS: i.Silent.Milliseconds(), NotHeardOf: i.NotHeardOf, BoundMS: i.Bound.Milliseconds(), Remembered: i.Remembered,
		DatabaseMS: ms(i.DatabaseTook), DatabaseFailed: i.DatabaseFailed, Redis: i.RedisState, RedisMS: ms(i.RedisTook),
		ClockMS: i.ClockAhead.Milliseconds(), Troubles: append([]string{}, i.Troubles...),
	}
	w.Answers.Memory, w.Answers.Redis, w.Answers.Database = i.Memory, i.Redis, i.Database
	if i.Horizon >= 0 {
		age := i.Horizon.Milliseconds()
		w.HorizonMS = &age
	}
	return w
}
