//go:build unix

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// promiseBound is B in the tests of single promises.
const promiseBound = 2 * time.Second

const password = "a lantern above the harbour"

// A userLogin is a login that lives on a row.
type userLogin struct {
	id, user idworker.ID
	name     string
	token    string
}

// issued is when it began.
func (l userLogin) issued() time.Time { return idworker.Default().Time(l.id) }

func tokensOf(logins []userLogin) (tokens []string) {
	for _, l := range logins {
		tokens = append(tokens, l.token)
	}
	return tokens
}

// logins puts that many users with a login each straight onto the rows: logins
// that began age ago, and were last used unused ago. Their password is that of
// the user admin, if there is one.
func (w *world) logins(t *testing.T, n int, age, unused time.Duration) (all []userLogin) {
	t.Helper()
	var values []string
	var args []any
	now := time.Now()
	first := w.number(t, "SELECT COUNT(*) FROM users")
	for k := range n {
		// The sequence distinguishes logins that begin in the same millisecond.
		id, err := idworker.Default().Compose(idworker.Parts{Time: now.Add(-age), Worker: 1023, Sequence: first + int64(k)})
		if err != nil {
			t.Fatal(err)
		}
		token := flakepass.NewToken(flakepass.ID(id))
		hash := session.HashOf(token)
		l := userLogin{id, id, fmt.Sprintf("stranger%d", first+int64(k)), token.Reveal()}
		all = append(all, l)
		values = append(values, "(?, ?, (SELECT COALESCE(MAX(password_hash), '') FROM (SELECT * FROM users WHERE username = 'admin') a), "+
			"1, 'user', ?, ?, ?, ?, ?)")
		args = append(args, int64(id), l.name, int64(id), hash[:], now.Add(-unused).UnixMilli(), now.UnixMilli(), now.UnixMilli())
	}
	w.exec(t, "INSERT INTO users (id, username, password_hash, password_version, role, "+
		"token_id, token_hash, token_seen_at, created_at, updated_at) VALUES "+strings.Join(values, ", "), args...)
	return all
}

// admin makes the user admin, and logs in.
func (w *world) admin(t *testing.T) (token string) {
	t.Helper()
	i, who := w.instances[0], credentials{"admin", password}
	register(t, i, who)
	w.exec(t, "UPDATE users SET role = 'admin' WHERE username = 'admin'")
	return open(t, i, who)
}

const databaseNow = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

// policy changes the policy with the statement of the program, which itself takes no
// idle timeout below five minutes. It returns when the change was committed. From
// then on no sweep is due.
func (w *world) policy(t *testing.T, idle, absolute, touch time.Duration) time.Time {
	t.Helper()
	base := func(column, timeout string) string {
		return column + " = GREATEST(" + column + ", " + databaseNow + " - " + timeout + "), "
	}
	w.exec(t, "UPDATE settings SET "+base("idle_base", "idle_timeout_ms")+base("absolute_base", "absolute_lifetime_ms")+
		"idle_timeout_ms = ?, absolute_lifetime_ms = ?, touch_interval_ms = ?, sweep_schedule = '0 0 1 1 *', "+
		"version = version + 1, updated_at = "+databaseNow+" WHERE scope = 'global'",
		idle.Milliseconds(), absolute.Milliseconds(), touch.Milliseconds())
	return time.Now()
}

// lives reports what the row of a login and the policy in force say, in one read
// and by the clock of the database.
func (w *world) lives(t *testing.T, l userLogin) bool {
	t.Helper()
	return w.number(t, "SELECT COUNT(*) FROM users u, settings s WHERE s.scope = 'global' AND u.id = ? AND u.token_id = ? AND u.disabled_at IS NULL "+
		"AND u.token_id > GREATEST(u.token_floor, s.global_floor) AND u.token_seen_at > GREATEST(s.idle_base, "+databaseNow+" - s.idle_timeout_ms) "+
		"AND ? > GREATEST(s.absolute_base, "+databaseNow+" - s.absolute_lifetime_ms)", int64(l.user), int64(l.id), l.issued().UnixMilli()) == 1
}

// awaitPolicy waits until all of them have read that absolute lifetime: what they answer
// about l follows from it.
func awaitPolicy(t *testing.T, l userLogin, absolute time.Duration, who ...asker) {
	t.Helper()
	for _, asked := range who {
		testenv.Eventually(t, patience, func() bool {
			a := asked.me(t.Context(), l, true)
			return a.status == http.StatusOK && a.expires.Equal(l.issued().Add(absolute).UTC())
		}, asked.called()+" has read the policy")
	}
}

// A remote is a service with a Remote, and its link to the instance that it asks.
type remote struct {
	*flakepass.Remote
	link *faultproxy.Proxy
}

// remote starts a service that asks that instance.
func (w *world) remote(t *testing.T, i *instance, credential string) *remote {
	t.Helper()
	mine, err := flakepass.ParseToken(credential)
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{link: faultproxy.New(t, strings.TrimPrefix(i.base, "http://"))}
	r.Remote, err = flakepass.NewRemote(flakepass.RemoteOptions{
		URL:        "http://" + r.link.Addr,
		Credential: func(context.Context) (flakepass.Token, error) { return mine, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		r.link.Refuse()
		<-ended
		r.Close()
	})
	return r
}
