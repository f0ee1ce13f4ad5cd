package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ErrDeletionOff means that people cannot delete their own accounts here.
var ErrDeletionOff = errors.New("people do not delete their own accounts here")

// Leaving are the rows of people who leave, or who ask what is kept of them. AskDeletion
// notes that a user wants the account to be deleted and ends the logins, in one step; it fails
// with [audit.ErrRole] for a service, and with [account.ErrLastAdmin].
// RecordExport writes an event if its actor has what it needs, unless its target has most of
// that action since that time; then it returns the ID of the first of these.
type Leaving interface {
	AskDeletion(ctx context.Context, id idworker.ID, e audit.Event) ([]session.Session, error)
	RecordExport(ctx context.Context, e audit.Event, since time.Time, most int) (full idworker.ID, err error)
}

// Past is the record. *sqlstore.Audit is one.
type Past interface {
	List(ctx context.Context, f audit.Filter) ([]audit.Event, error)
}

// AskDeletion ends all logins of the user who is logged in, and has the account deleted when
// the grace period is over, unless the user logs in before. It returns when that is. It fails
// with [ErrDeletionOff], [audit.ErrUnproven], [audit.ErrRole] for a service, and
// [account.ErrLastAdmin]. An error wrapping [session.ErrUnpublished] is as in
// [Service.Logout].
func (s *Service) AskDeletion(ctx context.Context, c *Client) (due time.Time, err error) {
	if s.Grace == 0 {
		return due, ErrDeletionOff
	}
	e, err := audit.New(ctx, s.IDs, c.By, audit.NeedsOwnProof, audit.DeletionAsked, c.self(), "", nil, nil)
	if err != nil {
		return due, fmt.Errorf("login: ask for a deletion: %w", err)
	}
	ended, err := s.Leaving.AskDeletion(ctx, c.By.ID, e)
	if err != nil {
		return due, fmt.Errorf("login: ask for a deletion: %w", s.over(ctx, c, err))
	}
	err = s.Store.Publish(ctx, ended...)
	args := []any{"user_id", c.By.ID, "ended", len(ended)}
	if err != nil {
		args = append(args, "err", err)
	}
	s.log(ctx, c, "deletion asked for", audit.DeletionAsked, args...)
	return s.Now().Add(s.Grace).UTC().Truncate(time.Millisecond), err
}

// MostEvents is how many entries of the record an export has at most, the newest.
const MostEvents = 5000

// exportPage is how many of them are read at a time.
const exportPage = 500

// A Copy is what is kept of a person.
type Copy struct {
	User   account.User
	Logins []session.Login
	// Events calls with the entries of the record that the user has made or that are about the
	// account, the newest first, a page at a time; a page may be empty. more says that there
	// are older ones.
	Events func(with func([]audit.Event) error) (more bool, err error)
}

// Export is a copy of what is kept of the user who is logged in. It needs a proof: a stolen
// token must not be enough for a whole past. That, and a limit of five an hour, bound how
// often. It is on record. It fails with [audit.ErrUnproven], and a
// [*ratelimit.LimitedError].
func (s *Service) Export(ctx context.Context, c *Client) (Copy, error) {
	failed := func(err error) (Copy, error) { return Copy{}, fmt.Errorf("login: export: %w", s.over(ctx, c, err)) }
	now, exports := s.Now(), ratelimit.Exports()
	full := idworker.ID(0)
	e, err := audit.New(ctx, s.IDs, c.By, audit.NeedsOwnProof, audit.DataExported, c.self(), "", nil, nil)
	if err == nil {
		full, err = s.Leaving.RecordExport(ctx, e, now.Add(-exports.Per), exports.Count)
	}
	if err != nil {
		return failed(err)
	}
	if full != 0 {
		wait := max(idworker.Default().Time(full).Add(exports.Per).Sub(now), time.Second)
		err = s.Sources.RefuseExport(wait)
		s.refused(ctx, c, &exporting, err)
		return failed(err)
	}
	user, held, err := s.Held.WithLogins(ctx, c.By.ID)
	if err != nil {
		return failed(err)
	}
	logins, err := s.Devices.Living(held)
	if err != nil {
		return failed(err)
	}
	s.log(ctx, c, exporting.done, exporting.event, "user_id", user.ID)
	return Copy{user, logins, func(with func([]audit.Event) error) (bool, error) { return s.past(ctx, &user, with) }}, nil
}

func (s *Service) past(ctx context.Context, user *account.User, with func([]audit.Event) error) (more bool, err error) {
	// A login is called by its user's name, which may have been that of another before.
	since := idworker.Default().Time(user.ID)
	renamed, err := s.Past.List(ctx, audit.Filter{Action: audit.UserRenamed, Target: user.ID, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("login: export the record: %w", err)
	}
	if len(renamed) > 0 {
		since = idworker.Default().Time(renamed[0].ID)
	}
	for n, before := 0, idworker.ID(0); ; {
		page, err := s.pageOf(ctx, []audit.Filter{{Actor: user.ID}, {Target: user.ID}, {TargetName: user.Username, Since: since}}, before)
		if err != nil {
			return false, fmt.Errorf("login: export the record: %w", err)
		}
		last := len(page) < exportPage
		if len(page) > 0 {
			before = page[len(page)-1].ID
		}
		page = slices.DeleteFunc(page, func(e audit.Event) bool { // something else has that name
			return e.By.ID != user.ID && e.Target.ID != user.ID && e.Target.Kind != "login"
		})
		if more = n+len(page) > MostEvents; more {
			page = page[:MostEvents-n]
		}
		n += len(page)
		if err := with(page); err != nil || more || last {
			return more, err
		}
	}
}

// pageOf is a page of the events that any of these chooses, each by its own index.
func (s *Service) pageOf(ctx context.Context, of []audit.Filter, before idworker.ID) (all []audit.Event, err error) {
	for _, f := range of {
		f.Before, f.Limit = before, exportPage
		page, err := s.Past.List(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	slices.SortFunc(all, func(a, b audit.Event) int { return cmp.Compare(b.ID, a.ID) })
	all = slices.CompactFunc(all, func(a, b audit.Event) bool { return a.ID == b.ID })
	return all[:min(len(all), exportPage)], nil
}
