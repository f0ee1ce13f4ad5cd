package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Logins are the logins that are kept, whether or not they are over by the
// policy.
//
// Newest returns those with IDs above above and below below, newest first: at
// most limit. Get returns one, alive or ended, or [session.ErrNotFound]. End ends one and
// EndUser all of a user, as [session.Writer] does, with the event.
type Logins interface {
	Newest(ctx context.Context, above, below idworker.ID, limit int) ([]session.Session, error)
	Get(ctx context.Context, id idworker.ID) (session.Session, error)
	End(ctx context.Context, e session.Ending) (session.Session, error)
	EndUser(ctx context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error)
}

// A Floor ends every login that has begun so far, and writes the events in the
// same transaction. It returns the largest ID that it ends.
type Floor interface {
	EndAll(ctx context.Context, now time.Time, events ...audit.Event) (idworker.ID, error)
}

// Sessions are the verbs about logins. Set the fields once, before use.
//
// A verb that ends one returns an error wrapping [session.ErrUnpublished] if it is
// done, but reaches other instances within the bound only.
type Sessions struct {
	Logins Logins
	Floor  Floor
	// Counted says how many logins live.
	Counted func(ctx context.Context, rule policy.Policy, now time.Time) (policy.Estimate, error)
	// Store publishes what has ended: the nearest tier.
	Store  session.Publisher
	Rights session.Rights
	Policy interface{ Current() *policy.Policy }
	IDs    audit.IDs
	// Now is the time by which this machine mints IDs.
	Now func() time.Time
	// Clock is that of the database, by which logins end. nil means Now.
	Clock func() time.Time
	// Here, if set, is what this instance knows of floors: it refuses what EndAll has
	// ended before that is answered.
	Here interface{ Raise(floor idworker.ID) }
	Log  *slog.Logger // nil logs nothing
}

// A Page is logins, newest first, and where the next page begins; 0 if there is
// none.
type Page struct {
	Logins []session.Login
	Next   idworker.ID
}

// MaxLook is how many logins List looks at for one page. Those that are idle, or on other
// devices, are left out, and nothing says beforehand how many they are.
const MaxLook = 2000

// List returns at most limit logins that live, newest first, with IDs below
// before, or the newest if before is 0; with a class, only those on devices of it. A page may
// have fewer than limit, or none, and a next page
// all the same, where many logins are idle and the sweep has not been there yet, or where
// few are on such devices. It fails with an [*invalid.Error] about the class.
func (s *Sessions) List(ctx context.Context, class string, before idworker.ID, limit int) (Page, error) {
	if err := checkClass(class); err != nil {
		return Page{}, err
	}
	p := Page{Next: cmp.Or(before, math.MaxInt64)}
	now, rule := s.clock(), s.Policy.Current()
	// What is older has expired: no row behind it is looked at.
	oldest, _ := rule.Longest(now)
	above := max(layout.Smallest(oldest), 1) - 1
	for looked := 0; looked < MaxLook; {
		// Where few are shown of many, each statement asks for twice as many as those before.
		want := min(max(limit+1, looked), MaxLook-looked)
		rows, err := s.Logins.Newest(ctx, above, p.Next, want)
		if err != nil {
			return Page{}, fmt.Errorf("operator: list logins: %w", err)
		}
		looked += len(rows)
		for i := range rows {
			if len(p.Logins) == limit {
				return p, nil
			}
			p.Next = rows[i].ID
			if l, lives := session.LoginOf(rows[i], rule, now); lives && l.Of(class) {
				p.Logins = append(p.Logins, l)
			}
		}
		if len(rows) < want {
			p.Next = 0
			return p, nil
		}
	}
	return p, nil
}

// checkClass takes "", which is any class, and each that a session may have: the policy may
// have lost it since.
func checkClass(class string) error {
	if class == "" || policy.IsClass(class) {
		return nil
	}
	return invalid.Of("device_class", "malformed", "must be the class of a device, such as phone or web")
}

// knowsClass refuses a class of which no login was found, and which no login can have: a class
// that was mistyped must not look as if its logins were over.
func (s *Sessions) knowsClass(class string) error {
	classes := s.Policy.Current().DeviceClasses()
	if class == "" || slices.Contains(classes, class) {
		return nil
	}
	return invalid.Of("device_class", "unknown_value", "there is no login on a device of that class, and no such class: must be one of "+strings.Join(classes, ", "))
}

func (s *Sessions) clock() time.Time {
	if s.Clock != nil {
		return s.Clock()
	}
	return s.Now()
}

var layout = idworker.Default()

// Get returns one login that lives, or [session.ErrNotFound].
func (s *Sessions) Get(ctx context.Context, id idworker.ID) (session.Login, error) {
	got, err := s.Logins.Get(ctx, id)
	l, lives := session.LoginOf(got, s.Policy.Current(), s.clock())
	if err == nil && !lives {
		err = session.ErrNotFound
	}
	if err != nil {
		return session.Login{}, fmt.Errorf("operator: get login: %w", err)
	}
	return l, nil
}

// End ends one login, for an operator, who has no token of it, and returns it; one
// that was over before comes with Before set. It fails with
// [session.ErrNotFound] if nothing is known of it, and with an
// [*invalid.Error] about the reason.
func (s *Sessions) End(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Session, error) {
	if err := CheckReason(reason); err != nil {
		return session.Session{}, err
	}
	ended, err := s.end(ctx, by, session.Ending{ID: id}, reason)
	if len(ended) == 0 {
		return session.Session{}, err
	}
	return ended[0], err
}

// end ends the login or the logins that e names, as [Sessions.End] does.
func (s *Sessions) end(ctx context.Context, by audit.Actor, e session.Ending, reason string) (ended []session.Session, err error) {
	// Minted before any row is locked.
	id, err := s.IDs.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("operator: end login: %w", err)
	}
	e.Reason, e.Record = session.Revoked, &session.Record{ID: id, By: by, Need: needs[endLogin], Reason: reason}
	if e.UserID != 0 {
		ended, err = s.Logins.EndUser(ctx, e, 0)
	} else {
		ended = make([]session.Session, 1)
		ended[0], err = s.Logins.End(ctx, e)
	}
	if err == nil && (len(ended) == 0 || ended[0].Before) || errors.Is(err, session.ErrNotFound) {
		if denied := s.unchanged(ctx, by, needs[endLogin]); denied != nil {
			return nil, denied
		}
	}
	if err != nil {
		return nil, fmt.Errorf("operator: end login: %w", err)
	}
	ended, err = s.publish(ctx, ended)
	for i := range ended {
		was := &ended[i]
		logAct(ctx, s.Log, by, err, "login ended", "user_id", was.UserID, "session_id", was.ID, "before", was.Before)
	}
	return ended, err
}

// publish takes sessions that have ended to all instances. It returns them, those marked
// that the policy had ended before.
func (s *Sessions) publish(ctx context.Context, ended []session.Session) ([]session.Session, error) {
	err := s.Store.Publish(ctx, ended...)
	for i := range ended {
		ended[i] = session.OverBefore(ended[i], s.Policy.Current(), s.clock())
	}
	if err != nil {
		return ended, fmt.Errorf("operator: publish an end: %w", err)
	}
	return ended, nil
}

// An EndedAll is what ending all logins did.
type EndedAll struct {
	Floor idworker.ID // the largest ID of a login that ended
	// Lived is how many lived until then, or nil if they could not be counted in
	// time: an operator who has to end all logins is not stopped by a number.
	Lived *policy.Estimate
}

// countTime is how long EndAll waits for that number.
const countTime = 2 * time.Second

// EndAll ends every login that has begun so far, that of the caller too. Other
// instances learn of it within the bound. It fails with an
// [*invalid.Error] about the reason.
func (s *Sessions) EndAll(ctx context.Context, by audit.Actor, reason string) (EndedAll, error) {
	if err := CheckReason(reason); err != nil {
		return EndedAll{}, err
	}
	var lived *policy.Estimate
	var record any
	if n, err := s.count(ctx, s.clock()); err == nil {
		lived = &n
		record = struct {
			Lived int64 `json:"ended"`
			Error int64 `json:"ended_error"`
		}{n.Count, n.Error}
	}
	e, err := audit.New(ctx, s.IDs, by, needs[endAllLogins], audit.AllLoginsEnded, audit.Target{Kind: "login"}, reason, nil, record)
	if err != nil {
		return EndedAll{}, err
	}
	floor, err := s.Floor.EndAll(ctx, s.Now(), e)
	if err != nil {
		return EndedAll{}, fmt.Errorf("operator: end all logins: %w", err)
	}
	if s.Here != nil {
		s.Here.Raise(floor)
	}
	logAct(ctx, s.Log, by, nil, "all logins ended", "floor", floor)
	return EndedAll{floor, lived}, nil
}

func (s *Sessions) count(ctx context.Context, now time.Time) (policy.Estimate, error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	return s.Counted(ctx, *s.Policy.Current(), now)
}
