//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// A remote is a service of others, with a link to one instance of its own.
type remote struct {
	*flakepass.Remote
	name  string
	login login
	at    *instance
	link  *faultproxy.Proxy
	dead  chan struct{} // says that its login is over
}

func (w *world) startRemote(i *instance, account string) error {
	link, err := faultproxy.Open(strings.TrimPrefix(i.base, "http://"))
	if err != nil {
		return err
	}
	w.closers = append(w.closers, link.Close)
	r := &remote{name: "Remote of " + strings.TrimPrefix(i.name, "instance "), login: login{name: account}, at: i, link: link, dead: make(chan struct{}, 1)}
	r.Remote, err = flakepass.NewRemote(flakepass.RemoteOptions{
		URL: "http://" + link.Addr,
		Credential: func(context.Context) (flakepass.Token, error) {
			if t := r.login.token(); !t.IsZero() {
				return t, nil
			}
			return flakepass.Token{}, errors.New("not logged in")
		},
		Failed: func(err error) {
			if errors.Is(err, flakepass.ErrCredential) {
				select {
				case r.dead <- struct{}{}:
				default:
				}
			}
		},
	})
	if err != nil {
		return err
	}
	w.closers = append(w.closers, r.Close)
	w.remotes = append(w.remotes, r)
	return nil
}

// stayLoggedIn logs the service in whenever its login is over, and before the
// policy ends it.
func (r *remote) stayLoggedIn(ctx context.Context, w *world) {
	for at := 0; ctx.Err() == nil; at++ {
		w.calm.RLock() // nobody logs in while all is compared
		err := r.login.in(ctx, w, w.instances[at%len(w.instances)])
		w.calm.RUnlock()
		if err != nil {
			pause(ctx, 300*time.Millisecond)
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.dead:
		case <-time.After(short.absolute * 2 / 3):
		}
	}
}

// verify asks the Remote about a token.
func (r *remote) verify(ctx context.Context, w *world, s *session, passive bool) judge.Answer {
	e := judge.Event{Where: r.name, What: fmt.Sprint("Verify of ", s.id), Op: judge.Ask, User: s.user, Session: s.id, Passive: passive, Wait: true}
	if passive {
		ctx = flakepass.NewPassiveContext(ctx)
		e.What += ", passive"
	}
	ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	e.Begin = w.now()
	who, err := r.Verify(ctx, s.token)
	e.End = w.now()
	var refusal *flakepass.Refusal
	switch {
	case err == nil:
		e.Answer = judge.Yes
		times{who.IssuedAt, who.LastSeenAt, who.IdleExpiresAt}.note(w, &e, s)
	case errors.As(err, &refusal):
		e.Answer, e.Code = judge.No, refusal.Code()
	default:
		e.Answer = judge.Undecided
	}
	w.add(e)
	return e.Answer
}
