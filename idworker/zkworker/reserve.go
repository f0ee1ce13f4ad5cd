package zkworker

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

// The reserve changes in this order: the file says which token is asked for,
// then ZooKeeper has it, then the file says that it has. A process that dies in
// between finds out at its next start, because it knows both tokens. Each
// filling up has a new token, so a copy of the file, or one from a backup, is
// worth nothing to a process that asks ZooKeeper after that.

// slack is for the clock, which goes on while ZooKeeper is asked for a range
// that is longer than Offline.
const slack = 10 * time.Second

// lock takes the turn: one at a time changes the reserve.
func (k *Keyed) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// renewAside fills up the reserve while lending goes on. The caller holds k.mu.
func (k *Keyed) renewAside() {
	select {
	case k.turn <- struct{}{}:
	default:
		return // another call does it
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	k.cancel = cancel
	k.waiting.Go(func() {
		defer func() { <-k.turn }()
		defer cancel()
		// A later Extend tries again, and learns of a lost number.
		if err := k.renew(ctx, 0); err != nil && k.Client.Log != nil {
			k.Client.Log.WarnContext(ctx, "the reserve for minting without zookeeper is not filled up", "err", err)
		}
	})
}

// renew fills up the reserve under its number, so that it reaches more beyond
// the clock or what is used, and Offline beyond the clock. It is
// [idworker.ErrLost] if neither of the file's tokens is the number's, and
// ZooKeeper has not forgotten that it was. The caller has the turn.
func (k *Keyed) renew(ctx context.Context, more time.Duration) error {
	for round := range rounds {
		if err := lend.Backoff(ctx, round); err != nil {
			return err
		}
		k.mu.Lock()
		r := k.kept
		k.mu.Unlock()
		if r.token == "" && r.next == "" {
			return idworker.ErrLost
		}
		s, err := k.tree().fresh(ctx, r.number)
		switch {
		case errors.Is(err, ErrDamaged):
			return k.giveUp(err)
		case ctx.Err() == nil && err != nil && lost(err):
			continue
		case err != nil:
			return err
		case k.forgotten(r, s):
			if err := k.tree().make(ctx); err != nil {
				return err
			}
			s.Token = r.token
		case !s.exists || s.Token == "" || s.Token != r.token && s.Token != r.next:
			return k.giveUp(nil)
		}
		// What was asked for last has come, or has not: either is known now.
		next := crand.Text()
		until := max(r.until, s.Fence) // a ZooKeeper that has lost its data gets it again
		if err := k.note(func(r *reserve) { r.token, r.next, r.until = s.Token, next, until }); err != nil {
			return err
		}
		to := s.node
		to.Token, to.Holder, to.Key = next, shown(k.Holder), shown(k.Key)
		to.Fence = max(until, k.target(r.used, more))
		won, err := k.tree().take(ctx, s, to, false)
		if err != nil {
			return err
		}
		if won {
			return k.confirmed(next, to.Fence) //nolint:contextcheck // the connection outlives the call
		}
	}
	return errRaced
}

// forgotten reports whether ZooKeeper has lost the reserve r, and nobody has taken its number
// since. Then k keeps the reserve. In a ZooKeeper that has lost nothing, the fence is never lower
// than the end of a reserve, and the number is nobody else's until the reserve has passed. After
// that it may have had another owner.
func (k *Keyed) forgotten(r reserve, s sight) bool {
	lasts := r.until > lend.Now(k.Now)+slack.Milliseconds()
	ours := s.Key == shown(k.Key)
	switch {
	case r.token == "":
		return false
	case !s.exists || s.Fence < r.until:
		k.Client.forgot(r.used)
		return lasts && (!s.exists || ours)
	case lasts && !ours: // taken, by a new owner
		k.Client.forgot(r.used)
	}
	return false
}

// confirmed notes what ZooKeeper has now.
func (k *Keyed) confirmed(token string, until int64) error {
	session := k.Client.session()
	return k.note(func(r *reserve) { r.token, r.next, r.until, k.session = token, "", until, session })
}

// replace gets another number, the one that the key had last if it is free.
func (k *Keyed) replace(ctx context.Context, window time.Duration) error {
	for round := range rounds {
		if err := lend.Backoff(ctx, round); err != nil {
			return err
		}
		now := lend.Now(k.Now)
		floor, err := k.Client.remembered()
		if err != nil {
			return err
		}
		s, err := k.choose(ctx, now, round)
		if ctx.Err() == nil && err != nil && lost(err) {
			continue
		}
		if err != nil {
			return err
		}
		r := reserve{number: s.number, name: nameOf(k.Root, k.Key), next: crand.Text()}
		r.used = max(now, s.Fence, floor)
		r.until = r.used // nothing, until ZooKeeper has it
		k.mu.Lock()
		k.owner = "" // the owner of the old number
		err = k.write(r)
		k.mu.Unlock()
		if err != nil {
			return err
		}
		to := node{Token: r.next, Holder: shown(k.Holder), Key: shown(k.Key), Fence: k.target(r.used, window)}
		won, err := k.tree().take(ctx, s, to, false)
		if err != nil {
			return err
		}
		if won {
			// Perhaps in a session that began since.
			if _, err := k.Client.remembered(); err != nil {
				return k.giveUp(err)
			}
			k.remember(ctx, s.number)
			return k.confirmed(to.Token, to.Fence) //nolint:contextcheck // as above
		}
	}
	return fmt.Errorf("%w: lost every race", idworker.ErrNoNumber)
}

// target is where the reserve is to end: more is what is needed at once.
func (k *Keyed) target(used int64, more time.Duration) int64 {
	now := lend.Now(k.Now)
	return max(now+k.offline().Milliseconds(), max(now, used)+(more+min(slack, k.offline())).Milliseconds())
}

// note changes the reserve in the file. Lending goes on meanwhile, so it begins
// from what is there now.
func (k *Keyed) note(change func(*reserve)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.kept
	change(&r)
	return k.write(r)
}

// giveUp forgets a reserve whose token ZooKeeper does not have. Most likely
// another process has taken the number after the reserve had passed. But it may also be
// that a copy of the file is in use elsewhere, so nothing more is lent from it,
// now or at a start without ZooKeeper.
func (k *Keyed) giveUp(why error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owner = ""
	return errors.Join(idworker.ErrLost, why, k.write(reserve{name: nameOf(k.Root, k.Key)}))
}

// choose prefers the number that the key had last, if it is free and its fence
// has passed.
func (k *Keyed) choose(ctx context.Context, now int64, round int) (sight, error) {
	total, err := lend.Numbers(k.Numbers)
	if err != nil {
		return sight{}, err
	}
	total = min(total, maxNumber+1)
	if round == 0 {
		data, err := ask(ctx, k.Client, func(c *zk.Conn) ([]byte, error) {
			data, _, err := c.Get(k.keyNode())
			return data, err
		})
		if n, bad := strconv.Atoi(string(data)); err == nil && bad == nil && n >= 0 && n < total {
			s, err := k.tree().fresh(ctx, n)
			if err == nil && s.exists && !s.claimed && s.Fence <= now {
				return s, nil
			}
		}
	}
	return k.tree().choose(ctx, total, now, round)
}

// remember keeps the number with the key. Nothing depends on it but which
// number the key gets when its file is lost, so a failure is none.
func (k *Keyed) remember(ctx context.Context, number int) {
	data := []byte(strconv.Itoa(number))
	_, _ = ask(ctx, k.Client, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Set(k.keyNode(), data, -1)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = c.Create(k.keyNode(), data, 0, k.Client.acl())
		}
		return struct{}{}, err
	})
}
