package deploytest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// keyring makes and ends keys, as an admin of an instance.
type keyring struct {
	*client.Client
	t    *testing.T
	user flakepass.ID // of the service billing
}

func newKeyring(t *testing.T, d *e2e.Deployment, address string) *keyring {
	t.Helper()
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	e2e.NewAdmin(t, d, "billing", account.RoleService)
	c, err := client.New(client.Options{URL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	in := step[client.Login](t, "login")(c.Login(t.Context(), client.Credentials{Username: "ada", Password: client.NewPassword(e2e.Passphrase)}))
	k := &keyring{Client: c.As(in.Token), t: t}
	for u, err := range k.Users(t.Context(), "billing") {
		if err != nil {
			t.Fatal(err)
		}
		k.user = u.ID
	}
	return k
}

func (k *keyring) make(scopes ...string) client.MadeServiceKey {
	k.t.Helper()
	return step[client.MadeServiceKey](k.t, "make a key")(k.CreateServiceKey(k.t.Context(), k.user, client.NewServiceKey{Name: "in production", Scopes: scopes}))
}

// introspects asks an instance about a token by a key, and returns the status and the body.
func introspects(c *e2e.Client, key, token string) e2e.Answer {
	return c.Post("/v1/introspect", "token="+token, "Authorization", "Bearer "+key)
}

// TestKeyEndsOnEveryInstanceWithinTheBound: whatever ends it, also where it is in use without
// a pause and nobody tells the other instance; and its stream is cut.
func TestKeyEndsOnEveryInstanceWithinTheBound(t *testing.T) {
	e2e.OnBothStores(t, func(t *testing.T, d *e2e.Deployment) {
		one, other := d.Start(t), d.Start(t)
		k := newKeyring(t, d, one.Public)
		alice, _ := d.Person(t, e2e.NewClient(t, one.Public), "alice", "user")
		for _, c := range []struct {
			name string
			end  func(client.MadeServiceKey) error
			undo func() error
			code string
		}{
			{"revoked", func(made client.MadeServiceKey) error {
				_, err := k.RevokeServiceKey(t.Context(), made.ID, "leaked")
				return err
			}, nil, "key_revoked"},
			{"disabled", func(client.MadeServiceKey) error { return k.change(true, "") }, func() error { return k.change(false, "") }, "account_disabled"},
			{"demoted", func(client.MadeServiceKey) error { return k.change(false, "user") }, func() error { return k.change(false, "service") }, "forbidden"},
		} {
			made := k.make("verify")
			key := made.Key.Reveal()
			away := e2e.NewClient(t, other.Public)
			away.Want(introspects(away, key, alice), 200, "")
			events, _ := follow(t, other.Public, key, "")
			until(t, events, "beat")
			if err := c.end(made); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			ended := time.Now() // it is acknowledged
			testenv.Eventually(t, e2e.Patience, func() bool {
				asked := time.Now()
				a := introspects(away, key, alice)
				if a.Status == http.StatusOK && asked.Sub(ended) > e2e.Bound {
					t.Fatalf("%s: accepted %v after its end", c.name, asked.Sub(ended))
				}
				return a.Status != http.StatusOK && a.Field("code") == c.code
			}, c.name+" is known on the other instance")
			endedBy(t, events, ended.Add(e2e.Bound), c.name)
			if c.undo == nil {
				here := e2e.NewClient(t, one.Public)
				here.Want(introspects(here, key, alice), 401, c.code) // at once where it was revoked
				continue
			}
			if err := c.undo(); err != nil {
				t.Fatalf("%s: undone: %v", c.name, err)
			}
			away.Want(introspects(away, key, alice), 200, "") // and good again at once
		}
	})
}

func (k *keyring) change(disabled bool, role string) error {
	c := client.UserChange{Disabled: &disabled}
	if role != "" {
		c = client.UserChange{Role: &role}
	}
	_, err := k.ChangeUser(k.t.Context(), k.user, c)
	return err
}

// endedBy reads a stream to its end. A beat that the instance stamped after that time is
// one too many; half a second is for a machine that stands between the look at the key
// and the stamp.
func endedBy(t *testing.T, events <-chan event, at time.Time, what string) {
	t.Helper()
	limit := time.After(e2e.Patience)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			if e.kind != "beat" {
				continue
			}
			var beat wire.Beat
			if err := json.Unmarshal([]byte(e.data), &beat); err != nil || !beat.Complete() {
				t.Fatalf("%s: a beat %q, %v", what, e.data, err)
			}
			if late := beat.Now.Sub(at); late > 500*time.Millisecond {
				t.Fatalf("%s: a beat %v after the bound", what, late)
			}
		case <-limit:
			t.Fatalf("%s: the stream goes on", what)
		}
	}
}

// TestEndOfAllLoginsEndsNoKey: and a service has no login that it could end.
func TestEndOfAllLoginsEndsNoKey(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	k := newKeyring(t, d, i.Public)
	key := k.make("verify", "revoke").Key.Reveal()
	c := e2e.NewClient(t, i.Public)
	alice, password := d.Person(t, c, "alice", "user")
	c.Want(introspects(c, key, alice), 200, "")
	if _, err := k.LogoutAll(t.Context(), "a leak"); err != nil {
		t.Fatal(err)
	}
	a := c.Want(introspects(c, key, alice), 200, "")
	if active, _ := a.Fields["active"].(bool); active {
		t.Error("alice is logged in after the end of all logins")
	}
	again := c.Login("alice", password)
	a = c.Want(introspects(c, key, again), 200, "")
	if a.Field("username") != "alice" {
		t.Errorf("got %s", a.Body)
	}
	c.Want(c.Post("/v1/revoke", "token="+again, "Authorization", "Bearer "+key), 200, "")
	c.Dead(again, "token_revoked")
}

// TestKeysRotateWithoutAGap: while requests flow through a Remote and a client, a second key
// is made, put into use, and the first is revoked. Nothing is refused and nothing undecided.
func TestKeysRotateWithoutAGap(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_REVOCATION_BOUND", "5s") // on a machine that stands still for a moment nothing is undecided
	k := newKeyring(t, d, i.Public)
	var inUse atomic.Pointer[flakepass.ServiceKey]
	var switched atomic.Int64 // how often another key was put into use
	use := func(made client.MadeServiceKey) { inUse.Store(&made.Key); switched.Add(1) }
	first := k.make("verify")
	use(first)
	mine := func(context.Context) (flakepass.ServiceKey, error) { return *inUse.Load(), nil }
	var failed atomic.Pointer[error]
	remote, err := flakepass.NewRemote(flakepass.RemoteOptions{
		URL: "http://" + i.Public, Key: mine, Timeout: e2e.Patience, MaxStale: -1, // so that each question is asked
		Failed: func(err error) { failed.Store(&err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	asks, err := client.New(client.Options{URL: "http://" + i.Public, Key: mine})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { remote.Run(ctx) })
	text, _ := d.Person(t, e2e.NewClient(t, i.Public), "alice", "user")
	alice, err := flakepass.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	var remotely, directly atomic.Int64
	var by [4]atomic.Int64 // up to which switch the questions of each are answered
	for n := range by {
		all.Go(func() {
			for ctx.Err() == nil {
				began := switched.Load()
				if who, err := remote.Verify(context.WithoutCancel(ctx), alice); err != nil || who.Username != "alice" {
					t.Errorf("through the Remote: %v", err)
					return
				}
				remotely.Add(1)
				if got, err := asks.Introspect(context.WithoutCancel(ctx), alice); err != nil || got.Username != "alice" {
					t.Errorf("introspection: %v", err)
					return
				}
				directly.Add(1)
				by[n].Store(began)
			}
		})
	}
	more := func(what string) {
		t.Helper()
		from, to := remotely.Load(), directly.Load()
		testenv.Eventually(t, e2e.Patience, func() bool {
			for n := range by {
				if by[n].Load() != switched.Load() { // one that began before is under way
					return t.Failed()
				}
			}
			return t.Failed() || remotely.Load() > from+100 && directly.Load() > to+100
		}, what)
	}
	more("questions flow by the first key")
	for range 3 {
		old := *inUse.Load()
		use(k.make("verify"))
		more("questions flow by the next key")
		if _, err := k.RevokeServiceKey(t.Context(), old.ID(), "replaced"); err != nil {
			t.Fatal(err)
		}
		more("questions flow after the old key was revoked")
	}
	stop()
	all.Wait()
	remote.Close()
	// The stream that the old key had opened ends with it, which is no call that failed.
	if err := failed.Load(); err != nil && !strings.Contains((*err).Error(), "follow revocations") {
		t.Errorf("a call failed: %v", *err)
	}
	for key, err := range k.ServiceKeys(t.Context(), k.user) {
		if err != nil {
			t.Fatal(err)
		}
		if key.UsedAt.IsZero() || key.RevokedAt.IsZero() != (key.ID == inUse.Load().ID()) {
			t.Errorf("%+v", key)
		}
	}
}

// TestServicesAreCarriedOver: an upgrade ends no token and refuses no service that logged in
// with a password before; one that is made afterwards needs a key. The operator may say
// otherwise.
func TestServicesAreCarriedOver(t *testing.T) {
	e2e.OnBothStores(t, func(t *testing.T, d *e2e.Deployment) {
		const setting = "FLAKEPASS_SERVICE_PASSWORD_LOGIN"
		before := d.Start(t)
		e2e.NewAdmin(t, d, "orders", account.RoleService)
		c := e2e.NewClient(t, before.Public)
		token := c.Login("orders", e2e.Passphrase)
		alice, _ := d.Person(t, c, "alice", "user")
		c.Want(introspects(c, token, alice), 200, "")
		// The deployment got service keys after that account was made.
		e2e.Execute(t, d.SQL(t), "UPDATE flakepass_migrations SET applied_at = ? WHERE number = 40", time.Now().UnixMilli()+1)
		testenv.Eventually(t, e2e.Patience, func() bool { return time.Now().UnixMilli()%10 == 0 }, "time passes")

		after := d.Start(t, setting, "existing")
		c = e2e.NewClient(t, after.Public)
		c.Want(introspects(c, token, alice), 200, "")
		if got := warnings(t, after); strings.Contains(got, "password") {
			t.Errorf("warned of %s before a service logged in", got)
		}
		token = c.Login("orders", e2e.Passphrase)
		c.Want(introspects(c, token, alice), 200, "")
		if got := warnings(t, after); !strings.Contains(got, "FLAKEPASS_SERVICE_PASSWORD_LOGIN") {
			t.Errorf("warned of %q after a service logged in", got)
		}
		e2e.NewAdmin(t, d, "shipping", account.RoleService)
		c.Want(c.TryLogin("shipping", e2e.Passphrase), 403, "service_login_refused")
		c.Want(c.TryLogin("shipping", e2e.Passphrase+"!"), 401, "credentials_invalid")

		off := d.Start(t, setting, "off")
		c = e2e.NewClient(t, off.Public)
		c.Want(c.TryLogin("orders", e2e.Passphrase), 403, "service_login_refused")
		c.Want(introspects(c, token, alice), 200, "") // the token lives
		on := d.Start(t, setting, "on")
		c = e2e.NewClient(t, on.Public)
		shipping := c.Login("shipping", e2e.Passphrase)
		c.Want(introspects(c, shipping, alice), 200, "")
	})
}

func warnings(t *testing.T, i *e2e.Instance) string {
	t.Helper()
	return string(e2e.NewClient(t, i.Public).Do("GET", "/readyz", "").Body)
}
