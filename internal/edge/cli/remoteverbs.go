package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/edge/render"
)

func (s remoteServer) backend() backend {
	return backend{
		users: s, accounts: s, resets: s, keys: s, sessions: s, events: s, policies: s,
		command: "flakepass remote", within: "within the revocation bound of the server",
		changing: func(_ context.Context, f func() error) error { return f() },
	}
}

// either reports whether err is one that the domain has here, or what a server says for
// it.
func either(err, here error, there client.Code) bool {
	return errors.Is(err, here) || errors.Is(err, there)
}

func (s remoteServer) change(ctx context.Context, u wire.Person, c client.UserChange) (string, error) {
	made, err := s.ChangeUser(ctx, u.ID, c)
	if err != nil {
		return "", err
	}
	if made.Person != nil && made.Person.Session != nil || u.Session == nil && c.Disabled != nil && !*c.Disabled {
		return "", nil // nothing had to change, and the login goes on; or who was disabled had none
	}
	return endedThere(u, made.Within), nil
}

func (s remoteServer) removeFactor(ctx context.Context, u wire.Person, reason string) (string, error) {
	within, err := s.RemoveUsersSecondFactor(ctx, u.ID, reason)
	return "a login, if there was one, has ended " + everywhere(within), err
}

func (s remoteServer) add(ctx context.Context, u client.NewUser, password string) (wire.User, error) {
	u.Password = client.NewPassword(password)
	return s.CreateUser(ctx, u)
}

func (s remoteServer) end(ctx context.Context, id wire.ID, reason string) (string, error) {
	within, err := s.EndSession(ctx, id, reason)
	return fmt.Sprintf("login %s is over, %s", id, everywhere(within)), err
}

func (s remoteServer) logout(ctx context.Context, u wire.Person, how client.LogoutHow) (string, error) {
	within, err := s.LogoutUser(ctx, u.ID, how)
	if how.DeviceClass != "" {
		u.Sessions = slices.DeleteFunc(u.Sessions, func(s wire.Session) bool { return s.Device.Class != how.DeviceClass })
		if u.Session = nil; len(u.Sessions) > 0 {
			u.Session = &u.Sessions[0]
		}
	}
	return endedThere(u, within), err
}

// endedThere says which logins have ended, if there were any.
func endedThere(u wire.Person, within time.Duration) string {
	if u.Session == nil {
		return "there was no login to end"
	}
	ids := []wire.ID{u.Session.ID}
	if len(u.Sessions) > 0 { // a server of an earlier version says nothing of them
		ids = ids[:0]
		for _, s := range u.Sessions {
			ids = append(ids, s.ID)
		}
	}
	return loginsEnded(ids, everywhere(within))
}

// loginsEnded says that these logins ended, at least one.
func loginsEnded(ids []wire.ID, within string) string {
	if len(ids) == 1 {
		return fmt.Sprintf("login %s ended, %s", ids[0], within)
	}
	return fmt.Sprintf("%d logins ended, %s: %s", len(ids), within, listed(ids))
}

func listed(ids []wire.ID) string { return strings.Join(render.All(ids, (*wire.ID).String), ", ") }
