//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// How many people there are. Each request costs an instance little and each
// login a password, so this and the pauses of people bound the load.
const (
	crowd = 6
	quiet = 4
)

const password = "a lantern above the harbour"

// populate makes the accounts: people, an operator, and one for each Remote.
func (w *world) populate(ctx context.Context, r *rand.Rand) error {
	crowd, probers := crowd, 0
	if w.database.site != nil {
		crowd, probers = crowd/2, len(w.instances) // the servers of a cluster are a load themselves
	}
	for n := range crowd + quiet + probers {
		p := &person{name: fmt.Sprint("person", n), password: password, other: "seven green kites over the sea", held: make([]*session, 1+n%len(devices))}
		if answer := w.ask(ctx, w.any(r), request{method: "POST", path: "/v1/register", body: credentials{p.name, p.password, nil}}); answer.status != 201 {
			return fmt.Errorf("register %s: %d %s", p.name, answer.status, answer.body)
		}
		switch {
		case n < crowd:
			w.people = append(w.people, p)
		case n < crowd+quiet:
			w.quiet = append(w.quiet, p)
		default:
			w.probers = append(w.probers, p)
		}
	}
	if _, _, err := w.shell(ctx, password, "user", "add", "root", "--role", "admin", "--password-stdin"); err != nil {
		return err
	}
	w.admin = &admin{login: login{name: "root"}}
	for n := range 2 {
		name := fmt.Sprint("service", n)
		if _, _, err := w.shell(ctx, password, "user", "add", name, "--role", "service", "--password-stdin"); err != nil {
			return err
		}
		if err := w.startRemote(w.instances[n], name); err != nil { //nolint:contextcheck // a Remote asks for its credential with contexts of its own
			return err
		}
	}
	made, _, err := w.shell(ctx, "", "key", "add", "service0", "codes", "--scope", "issue", "--json")
	if err != nil {
		return err
	}
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(made), &key); err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	w.issuer = key.Key
	if err := w.admin.in(ctx, w, w.instances[0]); err != nil {
		return err
	}
	page := w.ask(ctx, w.instances[0], request{method: "GET", path: "/v1/admin/users", token: w.admin.token()})
	var users struct {
		Users []struct{ ID, Username string }
	}
	if err := json.Unmarshal(page.body, &users); err != nil {
		return fmt.Errorf("list users: %d %w", page.status, err)
	}
	for _, u := range users.Users {
		for _, p := range w.everybody() {
			if p.name == u.Username {
				p.id = u.ID
			}
		}
	}
	return nil
}

// A login is the one of an operator or a service, who are no subject of the
// campaign: they log in anew whenever they must.
type login struct {
	name string

	mu    sync.Mutex
	held  flakepass.Token
	since time.Time
}

func (l *login) token() flakepass.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// in logs in.
func (l *login) in(ctx context.Context, w *world, i *instance) error {
	r := w.ask(ctx, i, request{method: "POST", path: "/v1/login", body: credentials{l.name, password, nil}})
	var opened struct{ Token string }
	if err := json.Unmarshal(r.body, &opened); err != nil || r.status != 200 {
		return fmt.Errorf("login of %s at %s: status %d %s", l.name, i.name, r.status, r.Code)
	}
	token, err := flakepass.ParseToken(opened.Token)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.since = token, time.Now()
	return nil
}

// old reports whether the login began longer ago than that.
func (l *login) old(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.since) > d
}

type admin struct{ login }
