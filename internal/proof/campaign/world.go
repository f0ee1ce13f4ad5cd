//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// A world is the deployment of one configuration, and those who live with it.
type world struct {
	*recorder
	bound     time.Duration
	program   string
	dir       string
	database  *database
	redis     string // host:port, or empty
	http      *http.Client
	instances []*instance
	remotes   []*remote
	people    []*person
	quiet     []*person // do only what the operator has them do
	probers   []*person // one for each instance, who only log in there; of clusters
	admin     *admin
	issuer    string        // the key by which people log in on some of their devices, as by SMS
	most      int           // sessions a user, by the policy that the operator has set
	clock     time.Duration // by how much signals set the clock of an instance; 0: they do not
	closers   []func()      // run last to first

	// calm is held by all who ask, and taken by the audit, during which none may.
	calm sync.RWMutex
}

// one runs one configuration for about that long.
func (o options) one(ctx context.Context, c configuration, length time.Duration, seed uint64) (r row, err error) {
	began := time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w, leave, err := o.inhabit(ctx, c, seed)
	defer leave()
	if err != nil {
		return r, err
	}
	r = row{configuration: c, seed: seed}
	op := o.operator(w, seed, length)
	for ctx.Err() == nil && time.Now().Before(op.until) {
		for calm := time.Now().Add(max(20*time.Second, 15*w.bound)); ctx.Err() == nil && time.Now().Before(calm) && time.Now().Before(op.until); {
			op.act(ctx)
			op.wait(ctx, op.some(1))
		}
		op.fault.Wait()
		w.audit(ctx, op.rand)
		r.calms++
		if r.Verdict = w.judge(w.bound); len(r.Faults) > 0 && !o.on {
			break
		}
	}
	r.took = time.Since(began)
	return r, nil
}

func (o options) operator(w *world, seed uint64, length time.Duration) *operator {
	op := &operator{world: w, moves: o.moves, rand: newRand(seed, "operator"), busy: make(chan struct{}, 1), until: time.Now().Add(length)}
	if s := w.database.site; s != nil && o.faults == nil {
		op.faults = slices.DeleteFunc(slices.Clone(s.faults), func(f fault) bool { return f.spends || f.name == byChance.name })
	}
	return op
}

// inhabit builds the deployment of a configuration, and people live in it until leave
// is called, which ends it.
func (o options) inhabit(ctx context.Context, c configuration, seed uint64) (w *world, leave func(), err error) {
	if w, err = o.bare(); err != nil {
		return w, w.close, err
	}
	if err := w.build(ctx, c, seed); err != nil {
		return w, w.close, err
	}
	ctx, stop := context.WithCancel(ctx)
	var living sync.WaitGroup
	for n, p := range w.people {
		living.Go(func() { p.live(ctx, w, newRand(seed, fmt.Sprint("person", n)), n%2 == 0) })
	}
	for _, remote := range w.remotes {
		living.Go(func() { remote.Run(ctx) })
		living.Go(func() { remote.stayLoggedIn(ctx, w) })
	}
	living.Go(func() { w.look(ctx, newRand(seed, "list")) })
	return w, func() { stop(); living.Wait(); w.close() }, nil
}

// bare is a world with nothing in it but a folder.
func (o options) bare() (w *world, err error) {
	w = &world{recorder: newRecorder(o.clock), bound: o.bound, clock: o.clock, http: &http.Client{
		// Longer than an instance takes to give up what it cannot decide.
		Timeout: 6 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if w.program, err = filepath.Abs(o.program); err != nil {
		return w, err
	}
	if w.dir, err = os.MkdirTemp("", "flakepass-campaign-"); err != nil {
		return w, err
	}
	w.closers = append(w.closers, func() { _ = os.RemoveAll(w.dir) })
	return w, nil
}

// build starts everything.
func (w *world) build(ctx context.Context, c configuration, seed uint64) (err error) {
	data := filepath.Join(w.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if w.database, err = openDatabase(starting, c.database, w.dir); err != nil {
		return err
	}
	w.closers = append(w.closers, w.database.close)
	if c.redis {
		if err := w.startRedis(starting); err != nil {
			return err
		}
	}
	// On a cluster each statement waits for another server, which took over 15 s on a busy machine.
	if _, _, err := w.command(starting, "", "migrate", "up"); err != nil {
		return err
	}
	w.most = len(devices)
	if w.database.site == nil {
		w.most = 1 + newRand(seed, "limit").IntN(len(devices))
	}
	if _, _, err := w.shell(starting, "", "policy", "set", "--max-sessions", strconv.Itoa(w.most)); err != nil {
		return err
	}
	if err := w.database.setPolicy(starting, short, nil); err != nil {
		return err
	}
	w.add(judge.Event{Begin: -time.Hour, End: -time.Hour, Where: "database", What: "the policy at the start", Op: judge.SetPolicy, Answer: judge.Yes,
		Wait: true, Policy: short.policy(w.most, nil)})
	for n := range 3 {
		if err := w.addInstance(starting, n, w.program, data); err != nil {
			return err
		}
		if err := w.start(starting, w.instances[n]); err != nil {
			return err
		}
	}
	return w.populate(starting, newRand(seed, "names"))
}

func (w *world) close() {
	for n := len(w.closers) - 1; n >= 0; n-- {
		w.closers[n]()
	}
	w.http.CloseIdleConnections()
}

// A request is what is sent to an instance.
type request struct {
	method, path string
	token        flakepass.Token
	key          string // in the place of a token
	passive      bool
	body         any
}

// A reply is what came back. Its event has the times, the place and what became
// of it; the caller adds what it was about.
type reply struct {
	judge.Event
	status int
	header http.Header
	body   []byte
}

// ask sends one request to an instance.
func (w *world) ask(ctx context.Context, i *instance, q request) (r reply) {
	r.Where, r.What, r.Passive = i.name, q.method+" "+q.path, q.passive
	if q.passive {
		r.What += ", passive"
	}
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			panic(err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, i.base+q.path, body) //nolint:gosec,nolintlint // instances of the campaign; G704 is found in some runs only
	if err != nil {
		panic(err)
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		req.Header.Set("Authorization", "Bearer "+q.key)
	}
	if !q.token.IsZero() {
		req.Header.Set("Authorization", "Bearer "+q.token.Reveal())
	}
	if q.passive {
		req.Header.Set(flakepass.PassiveHeader, "1")
	}
	r.Begin = w.now()
	resp, err := w.http.Do(req) //nolint:gosec // of an instance that the campaign has started
	if err == nil {
		r.body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
	}
	r.End, r.Wait = w.now(), true
	if err != nil {
		return r
	}
	r.status, r.Status, r.header = resp.StatusCode, resp.StatusCode, resp.Header
	var problem struct{ Code string }
	switch {
	case r.status >= 500:
		r.Answer, r.Wait = judge.Undecided, r.status != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != ""
	case r.status >= 300:
		r.Answer = judge.No
	default:
		r.Answer = judge.Yes
		return r
	}
	_ = json.Unmarshal(r.body, &problem) // what is no problem document has no code
	r.Code = problem.Code
	return r
}

// does sends a request that is to end a login or disable a user, and writes it down.
func (w *world) does(ctx context.Context, i *instance, q request, about judge.Event) judge.Answer {
	r := w.ask(ctx, i, q)
	e := r.Event
	e.Op, e.User, e.Session = about.Op, about.User, about.Session
	if about.What != "" {
		e.What = about.What
	}
	w.add(e)
	return e.Answer
}

// any is one of the instances, also one that is away.
func (w *world) any(r *rand.Rand) *instance { return w.instances[r.IntN(len(w.instances))] }

// everybody is all people, those who are quiet too.
func (w *world) everybody() []*person { return slices.Concat(w.people, w.quiet, w.probers) }

func newRand(seed uint64, who string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(who) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h)) //nolint:gosec // a campaign is repeated by its seed
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
