package adminui

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/activity"
	"github.com/flakepass/flakepass/internal/policy"
)

// Status says how this instance is doing. It takes a second at most.
type Status func(ctx context.Context) State

// A State is how an instance is doing.
type State struct {
	Reasons  []string // why it should get no requests; none if it should
	Version  string
	Up       time.Duration
	Database string // where it is, without a password
	Redis    string // how it is doing; empty if there is none
	Worker   int
	Horizon  time.Duration // how old the last poll is that was applied; negative before the first
	Bound    time.Duration
	// Memory, Redis and database have answered for that many tokens.
	FromMemory, FromRedis, FromDatabase uint64
	Sweeps                              []Sweep // the last, newest first
}

// A Sweep is one pass of the sweep.
type Sweep struct {
	Started  time.Time
	Took     time.Duration
	Instance string // empty if it is this one
	Outcome  string
	Cleared  int64
}

// Activities are what was counted by the hour.
type Activities interface {
	Since(ctx context.Context, since time.Time) ([]activity.Count, error)
}

type homeView struct {
	frame
	Live     string // empty if it could not be found out
	State    State
	Horizon  string
	Up       string
	Late     bool // the horizon is older than the bound
	Answers  []share
	Activity activityView
	Missing  string // what could not be found out, in a sentence
	Alone    bool   // nobody else is logged in
	AddUser  string // a command
}

// A share is one part of a whole, of a hundred.
type share struct {
	Name, Class string
	X, Width    float64
	Count, Part string
}

func (u *UI) overview(v *visit) {
	now := u.Now()
	ctx, cancel := context.WithTimeout(v.r.Context(), patience)
	defer cancel()
	view := homeView{frame: v.frame(v.t.Home.Title, homePath), State: u.Status(ctx), AddUser: "flakepass user add NAME"}
	var missing []string
	if live, err := u.living(ctx, now); err == nil {
		view.Live, view.Alone = v.t.estimate(live), live.Count <= 1 && live.Error == 0
	} else {
		u.Log.WarnContext(ctx, "console: logins not counted", "err", err)
		missing = append(missing, v.t.Home.Live)
	}
	var err error
	if view.Activity, err = v.activity(ctx, now); err != nil {
		u.Log.WarnContext(ctx, "console: no activity", "err", err)
		missing = append(missing, v.t.Home.Activity)
	}
	if len(missing) > 0 {
		view.Missing = fmt.Sprintf(v.t.Home.PartlyF, strings.Join(missing, ", "))
	}
	s := &view.State
	view.Up = fmt.Sprintf(v.t.Home.UptimeF, v.t.span(s.Up))
	view.Horizon, view.Late = v.t.Home.NoHorizon, s.Horizon < 0 || s.Horizon > s.Bound
	if s.Horizon >= 0 {
		view.Horizon = fmt.Sprintf(v.t.Home.HorizonF, fmt.Sprintf("%.1f s", s.Horizon.Seconds()))
	}
	view.Answers = shares([]share{
		{Name: v.t.Home.Memory, Class: "a"}, {Name: v.t.Home.Shared, Class: "b"}, {Name: v.t.Home.FromRows, Class: "c"},
	}, s.FromMemory, s.FromRedis, s.FromDatabase)
	v.render(http.StatusOK, "home", view)
}

// living is how many logins live, at most a few seconds old.
func (u *UI) living(ctx context.Context, now time.Time) (policy.Estimate, error) {
	inForce, err := u.Policies.Current(ctx)
	if err != nil {
		return policy.Estimate{}, err
	}
	return u.live.get(now, inForce.Version, countAge, func() (policy.Estimate, error) { return u.Figures.CountLogins(ctx, inForce, now) })
}

// shares lays the parts out side by side over a hundred; nil if there is
// nothing.
func shares(parts []share, counts ...uint64) []share {
	var sum uint64
	for _, n := range counts {
		sum += n
	}
	if sum == 0 {
		return nil
	}
	x := 0.0
	for i, n := range counts {
		p := &parts[i]
		p.X, p.Width = x, 100*float64(n)/float64(sum)
		p.Count, p.Part = number(n), percent(int64(n), int64(sum))
		x += p.Width
	}
	return parts
}
