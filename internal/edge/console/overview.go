package console

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// Status says how this instance is doing. It takes a second at most.
type Status func(ctx context.Context) State

// A State is how an instance is doing.
type State struct {
	Self       string          // the ID of its reports
	Reasons    []fleet.Trouble // why it should get no requests; none if it should
	Version    string
	Up         time.Duration
	Database   string        // where it is, without a password
	Redis      fleet.Trouble // how it is doing
	RedisPlace string        // where it is, without a password
	Worker     int
	Horizon    time.Duration // how old the last poll is that was applied; negative before the first
	Bound      time.Duration
	Answers    fleet.Answers  // tokens accepted since the start
	Sweeps     []sweep.Report // the last, newest first, of all instances
}

// Activities are what was counted by the hour.
type Activities interface {
	Since(ctx context.Context, since time.Time) ([]activity.Count, error)
}

type homeView struct {
	frame
	Live     string   // empty if it could not be found out
	OnDevice []string // how many live on devices of each class
	Left     *leftView
	Counted  time.Time // zero: not yet
	Pending  bool      // the figures are being counted
	Fleet    fleetView
	State    State
	Reasons  []string // those of State, in words
	Redis    string
	Horizon  string
	Bound    string
	Up       string
	Late     bool // the horizon is older than the bound
	Answers  []share
	Activity activityView
	Passes   []passView
	Missing  string // what could not be found out, in a sentence
	Alone    bool   // no other user is logged in
	AddUser  string // a command
}

// A share is one part of a whole, of a hundred.
type share struct {
	Name, Class string
	X, Width    float64
	Count, Part string
}

func (u *UI) overview(q *request) {
	now := u.Now()
	ctx, cancel := context.WithTimeout(q.r.Context(), patience)
	defer cancel()
	view := homeView{frame: q.frame(q.t.Text("overview.title"), homePath, "overview.js"), State: u.Status(ctx), AddUser: "flakepass user add NAME"}
	var missing []string
	lacks := func(what, title string, err error) {
		q.logFailure(slog.LevelWarn, "the overview lacks "+what, err)
		missing = append(missing, title)
	}
	inForce, err := u.Policies.Current(ctx)
	if err != nil {
		lacks("the policy", q.t.Text("overview.live"), err)
	} else if !q.figures(ctx, &inForce, &view) {
		missing = append(missing, q.t.Text("overview.live"))
	}
	if view.Fleet, err = q.fleet(ctx, view.State.Self); err != nil {
		lacks("its instances", q.t.Text("instances.title"), err)
	}
	if view.Activity, err = q.activity(ctx, now); err != nil {
		lacks("its activity", q.t.Text("overview.activity"), err)
	}
	if len(missing) > 0 {
		view.Missing = q.t.Text("overview.partly", strings.Join(missing, q.t.Text("mark.list")))
	}
	s := &view.State
	view.Reasons, view.Redis = q.t.troubles(s.Reasons), q.t.redis(s)
	view.Up = q.t.Text("overview.uptime", q.t.span(s.Up))
	view.Horizon, view.Late = q.t.Text("overview.no_horizon"), s.Horizon < 0 || s.Horizon > s.Bound
	if s.Horizon >= 0 {
		view.Horizon = q.t.Text("overview.horizon_line", ago(s.Horizon))
	}
	view.Bound = boundOf(s.Bound)
	view.Answers = q.t.answers(s.Answers)
	view.Passes = q.t.passes(s.Sweeps)
	q.render(http.StatusOK, "home", view)
}

// figures puts the last counts on the page, and reports whether one is there or
// under way.
func (q *request) figures(ctx context.Context, inForce *policy.Policy, view *homeView) bool {
	last, pending := q.u.figures.get(ctx, q.u.Now, inForce.Version)
	if view.Pending = pending; pending {
		view.Refresh = 2
	}
	if !last.At.IsZero() {
		view.Live, view.Counted = q.t.estimate(last.Live), last.At
		view.Alone = last.Live.Count <= 1 && last.Live.Error == 0
		view.Left = q.t.left(&last)
		for _, class := range last.classes(inForce) {
			if n := last.Classes[class]; n.Count > 0 {
				view.OnDevice = append(view.OnDevice, q.t.Name("device", class)+q.t.Text("mark.colon")+q.t.estimate(n))
			}
		}
	}
	return pending || last.Failed.IsZero()
}

// answers lays out side by side over a hundred where tokens were accepted; nil if there
// was none.
func (t *texts) answers(a fleet.Answers) (parts []share) {
	all := a.Memory + a.Redis + a.Database
	if all == 0 {
		return nil
	}
	x := 0.0
	for _, p := range []struct {
		name, class string
		n           uint64
	}{{t.Text("overview.memory"), "a", a.Memory}, {t.Text("overview.redis_cache"), "b", a.Redis}, {t.Text("overview.from_rows"), "c", a.Database}} {
		wide := 100 * float64(p.n) / float64(all)
		parts = append(parts, share{p.name, p.class, x, wide, number(p.n), percent(int64(p.n), int64(all))})
		x += wide
	}
	return parts
}
