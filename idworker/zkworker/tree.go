package zkworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/flakepass/flakepass/idworker"
)

// errRaced says that a change did not happen, or perhaps did: look again.
var errRaced = errors.New("zkworker: changed meanwhile")

// A tree is what is kept below one path:
//
//	numbers/0007   persistent: the fence and the owner's token
//	claims/0007    ephemeral: the owner's session lives
//	keys/KEY       persistent: the number that a key had last
type tree struct {
	client *Client
	root   string
}

func (t tree) number(n int) string { return fmt.Sprintf("%s/numbers/%04d", t.root, n) }
func (t tree) claim(n int) string  { return fmt.Sprintf("%s/claims/%04d", t.root, n) }

// A sight is a number's node as it was when it was looked at.
type sight struct {
	node
	number  int
	exists  bool
	version int32
	claimed bool
}

// sync makes what is read afterwards no older than now, whichever server of the
// ensemble answers.
func (t tree) sync(ctx context.Context) error {
	_, err := ask(ctx, t.client, func(c *zk.Conn) (string, error) { return c.Sync(t.root) })
	return err
}

// look reads one number. A node that is not there exists not; that is no error.
func (t tree) look(ctx context.Context, n int) (sight, error) {
	type raw struct {
		data    []byte
		version int32
	}
	s := sight{number: n}
	got, err := ask(ctx, t.client, func(c *zk.Conn) (raw, error) {
		data, stat, err := c.Get(t.number(n))
		if err != nil {
			return raw{}, err
		}
		return raw{data, stat.Version}, nil
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return s, nil
	case err != nil:
		return s, err
	}
	s.exists, s.version = true, got.version
	if s.node, err = parseNode(got.data); err != nil {
		return s, fmt.Errorf("%w: %s", err, t.number(n))
	}
	s.claimed, err = ask(ctx, t.client, func(c *zk.Conn) (bool, error) {
		ok, _, err := c.Exists(t.claim(n))
		return ok, err
	})
	return s, err
}

// put changes a number's node from what was seen to what is to be, and makes or
// deletes the claim, in one step: all of it happens or nothing. It is errRaced
// if the node has changed, and also if the answer was lost: then it may have
// happened.
func (t tree) put(ctx context.Context, s sight, to node, claim bool) error {
	data, err := to.encode()
	if err != nil {
		return err
	}
	acl := t.client.acl()
	var ops []any
	if s.exists {
		ops = append(ops, &zk.SetDataRequest{Path: t.number(s.number), Data: data, Version: s.version})
	} else {
		ops = append(ops, &zk.CreateRequest{Path: t.number(s.number), Data: data, Acl: acl})
	}
	switch {
	case claim && !s.claimed:
		ops = append(ops, &zk.CreateRequest{Path: t.claim(s.number), Data: []byte(to.Holder), Acl: acl, Flags: zk.FlagEphemeral})
	case !claim && s.claimed:
		ops = append(ops, &zk.DeleteRequest{Path: t.claim(s.number), Version: -1})
	}
	_, err = ask(ctx, t.client, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(ops...)
		return struct{}{}, err
	})
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) || !again(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errRaced, err)
}

// again reports whether an error is that of a race, or of a lost answer: only
// another read shows the state. The errors that are listed are answers.
func again(err error) bool {
	for _, known := range []error{
		zk.ErrNoServer, zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrAuthFailed, zk.ErrInvalidPath, zk.ErrAPIError,
		zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments, zk.ErrClosing,
	} {
		if errors.Is(err, known) {
			return false
		}
	}
	return true
}

// list reads which numbers have a node and which are claimed. If nothing is
// there, it makes the folders first.
func (t tree) list(ctx context.Context) (numbers, claims []int, err error) {
	if err := t.sync(ctx); errors.Is(err, zk.ErrNoNode) {
		if err := t.make(ctx); err != nil {
			return nil, nil, err
		}
	} else if err != nil {
		return nil, nil, err
	}
	if numbers, err = t.children(ctx, "numbers"); errors.Is(err, zk.ErrNoNode) {
		if err = t.make(ctx); err == nil {
			numbers, err = t.children(ctx, "numbers")
		}
	}
	if err == nil {
		claims, err = t.children(ctx, "claims")
	}
	return numbers, claims, err
}

func (t tree) children(ctx context.Context, folder string) ([]int, error) {
	names, err := ask(ctx, t.client, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(t.root + "/" + folder)
		return names, err
	})
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

// make makes the folders, the last one last.
func (t tree) make(ctx context.Context) error {
	if !strings.HasPrefix(t.root, "/") || path.Clean(t.root) != t.root || t.root == "/" {
		return fmt.Errorf("the path %q is not one such as /flakepass/workers", t.root)
	}
	var all []string
	for at := t.root; at != "/"; at = path.Dir(at) {
		all = append([]string{at}, all...)
	}
	for _, folder := range append(all, t.root+"/keys", t.root+"/claims", t.root+"/numbers") {
		_, err := ask(ctx, t.client, func(c *zk.Conn) (string, error) { return c.Create(folder, nil, 0, t.client.acl()) })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			if ok, _ := ask(ctx, t.client, func(c *zk.Conn) (bool, error) { ok, _, err := c.Exists(folder); return ok, err }); ok {
				continue // of another, above ours
			}
			return fmt.Errorf("make %s: %w", folder, err)
		}
	}
	return nil
}

// lookAll reads several numbers, some at a time. Damaged ones are left out;
// their error is returned beside the rest.
func (t tree) lookAll(ctx context.Context, numbers []int) (all []sight, damaged, err error) {
	const most = 64 // questions on their way
	for batch := range slices.Chunk(numbers, most) {
		sights, errs := make([]sight, len(batch)), make([]error, len(batch))
		var wg sync.WaitGroup
		for i, n := range batch {
			wg.Go(func() { sights[i], errs[i] = t.look(ctx, n) })
		}
		wg.Wait()
		for i, s := range sights {
			switch {
			case errors.Is(errs[i], ErrDamaged):
				damaged = errs[i]
			case errs[i] != nil:
				return nil, nil, errs[i]
			default:
				all = append(all, s)
			}
		}
	}
	return all, damaged, nil
}

// lost reports whether an answer was lost with the connection or the session,
// of which there will be another.
func lost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved)
}

// choose picks the number to try in this round of a race: free ones by the
// lowest fence, then one that was never used, then free ones whose fence is
// ahead of the clock, nearest first. Later rounds pick among the 2^round first,
// so that processes that start together spread. A number that is a key's is
// free only when its reserve has passed.
func (t tree) choose(ctx context.Context, total int, now int64, round int) (sight, error) {
	used, claimed, err := t.list(ctx)
	if err != nil {
		return sight{}, err
	}
	taken := make(map[int]bool)
	for _, n := range append(slices.Clone(used), claimed...) {
		taken[n] = true
	}
	free := slices.DeleteFunc(used, func(n int) bool { return n >= total || slices.Contains(claimed, n) })
	sights, damaged, err := t.lookAll(ctx, free)
	if err != nil {
		return sight{}, err
	}
	var ready, ahead, fresh []sight
	for _, s := range sights {
		switch {
		case s.claimed || !s.exists: // since the list was read
		case s.Fence <= now:
			ready = append(ready, s)
		case s.Key == "":
			ahead = append(ahead, s)
		}
	}
	spread := 1 << min(round, 10)
	for n := 0; n < total && len(fresh) < spread; n++ {
		if !taken[n] {
			fresh = append(fresh, sight{number: n})
		}
	}
	for _, kind := range [][]sight{ready, fresh, ahead} {
		if len(kind) > 0 {
			slices.SortFunc(kind, func(a, b sight) int {
				return cmp.Or(cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.number, b.number))
			})
			return kind[rand.IntN(min(len(kind), spread))], nil //nolint:gosec // which number is tried is no secret
		}
	}
	return sight{}, errors.Join(idworker.ErrNoNumber, damaged)
}
