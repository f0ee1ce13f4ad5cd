package console_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// crowd is users and their logins, in memory, by the rules that the verbs state.
type crowd struct {
	w      *world
	users  []account.User // oldest first
	logins map[idworker.ID]session.Login
	calls  []string
	err    error
}

// populate makes n users, each logged in, of whom the first is the admin who
// looks.
func (w *world) populate(n int) *crowd {
	c := &crowd{w: w, logins: map[idworker.ID]session.Login{}}
	for i := range n {
		u := account.User{ID: idworker.ID(7 + i), Username: fmt.Sprintf("user%03d", i), Role: account.RoleUser, CreatedAt: w.now}
		if i == 0 {
			u.Username, u.Role = "ada", account.RoleAdmin
		}
		c.users = append(c.users, u)
		l := session.Login{IssuedAt: w.now.Add(-time.Hour), ExpiresAt: w.now.Add(3 * time.Hour), IdleExpiresAt: w.now.Add(30 * time.Minute)}
		l.ID, l.UserID, l.Username, l.Seen = idworker.ID(9000+i), u.ID, u.Username, w.now.Add(-30*time.Minute)
		c.logins[l.ID] = l
	}
	w.ui.People.Users, w.ui.People.Sessions, w.ui.People.Logout = c, living{c}, living{c}
	w.h = w.ui.Handler()
	return c
}

func (c *crowd) List(_ context.Context, prefix, after string, limit int) (found []account.User, err error) {
	behind := after == ""
	for _, u := range slices.Backward(c.users) {
		if strings.HasPrefix(u.Username, prefix) && behind && len(found) < limit {
			found = append(found, u)
		}
		behind = behind || operator.UserCursor(prefix, &u) == after
	}
	if !behind {
		return nil, invalid.Of("cursor", "malformed", "")
	}
	return found, c.err
}

func (c *crowd) find(id idworker.ID) *account.User {
	for i := range c.users {
		if c.users[i].ID == id {
			return &c.users[i]
		}
	}
	return nil
}

func (c *crowd) Get(_ context.Context, id idworker.ID) (operator.Person, error) {
	u := c.find(id)
	if u == nil {
		return operator.Person{}, account.ErrNotFound
	}
	p := operator.Person{User: *u}
	for _, l := range c.logins {
		if l.UserID == id {
			p.Logins = append(p.Logins, l)
		}
	}
	return p, c.err
}

func (c *crowd) Create(_ context.Context, _ audit.Actor, username string, p account.Password, role account.Role, reason string) (account.User, error) {
	if err := account.CheckPassword(username, p); err != nil {
		return account.User{}, err
	}
	if slices.ContainsFunc(c.users, func(u account.User) bool { return u.Username == username }) {
		return account.User{}, account.ErrExists
	}
	if err := c.w.proof(); err != nil && role != account.RoleUser {
		return account.User{}, err
	}
	u := account.User{ID: c.users[len(c.users)-1].ID + 1, Username: username, Role: role}
	c.users = append(c.users, u)
	c.calls = append(c.calls, "create "+username+" "+string(role)+" "+reason)
	return u, nil
}

func (c *crowd) Change(_ context.Context, _ audit.Actor, id idworker.ID, change operator.UserChange) (p operator.Person, ended []session.Session, err error) {
	u := c.find(id)
	if u == nil {
		return p, ended, account.ErrNotFound
	}
	if c.err != nil {
		return p, ended, c.err
	}
	if change.Role != nil {
		if err := c.w.proof(); err != nil {
			return p, ended, err
		}
		if u.Role == account.RoleAdmin && *change.Role != account.RoleAdmin {
			return p, ended, account.ErrLastAdmin
		}
		u.Role = *change.Role
		c.calls = append(c.calls, "role "+u.Username+" "+string(u.Role)+" "+change.Reason)
	}
	if change.Disabled != nil {
		u.DisabledAt = time.Time{}
		if *change.Disabled {
			u.DisabledAt = c.w.now
		}
		c.calls = append(c.calls, fmt.Sprintf("disabled %s %v %s", u.Username, *change.Disabled, change.Reason))
	}
	return p, ended, nil
}

// living is the crowd's logins.
type living struct{ *crowd }

// Get is called by the API alone.
func (living) Get(context.Context, idworker.ID) (session.Login, error) { panic("not called") }

func (c living) List(_ context.Context, class string, before idworker.ID, limit int) (p operator.Page, err error) {
	var ids []idworker.ID
	for id, l := range c.logins {
		if (before == 0 || id < before) && l.Of(class) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	for i, id := range ids {
		if i == limit {
			p.Next = p.Logins[limit-1].ID
			return p, nil
		}
		if l := c.logins[id]; class == "" || l.Device.ClassName() == class {
			p.Logins = append(p.Logins, l)
		}
	}
	return p, c.err
}

func (c living) Logout(_ context.Context, _ audit.Actor, user idworker.ID, class, reason string) (ended []session.Session, err error) {
	if c.err != nil {
		return nil, c.err
	}
	for id, l := range c.logins {
		if l.UserID == user && l.Of(class) {
			delete(c.logins, id)
			ended = append(ended, l.Session)
		}
	}
	c.calls = append(c.calls, fmt.Sprintf("logout %v of %q: %d %s", user, class, len(ended), reason))
	return ended, nil
}

func (c living) End(_ context.Context, _ audit.Actor, id idworker.ID, reason string) (ended session.Session, err error) {
	if c.err != nil {
		return ended, c.err
	}
	if _, ok := c.logins[id]; !ok {
		return ended, session.ErrNotFound
	}
	delete(c.logins, id)
	c.calls = append(c.calls, "end "+id.String()+" "+reason)
	return ended, nil
}

func (c living) EndAll(_ context.Context, _ audit.Actor, reason string) (operator.EndedAll, error) {
	if err := c.w.proof(); err != nil {
		return operator.EndedAll{}, err
	}
	clear(c.logins)
	c.calls = append(c.calls, "end all "+reason)
	return operator.EndedAll{}, c.err
}
