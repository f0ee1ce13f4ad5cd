package operator

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// here is who is known of a batch.
type here struct {
	byName, byExternalID map[string]*known
}

// A known is a user who is here, or a line before that will be.
type known struct {
	account.User
	line *newcomer
}

func newHere(users []account.User) here {
	h := here{map[string]*known{}, map[string]*known{}}
	for i := range users {
		h.put(&known{User: users[i]})
	}
	return h
}

func (h here) put(k *known) {
	h.byName[k.Username] = k
	for _, alias := range k.Aliases {
		h.byName[alias] = k
	}
	if k.ExternalID != "" {
		h.byExternalID[k.ExternalID] = k
	}
}

func (h here) take(n *newcomer) { h.put(&known{n.user, n}) }

// compare says whether the user of a line is here, and what of it is not as the line says.
func (h here) compare(n *newcomer, rest *dry) (conflicts []invalid.Field, found bool) {
	conflict := func(differs bool, field string) {
		if differs {
			conflicts = append(conflicts, invalid.Field{Field: field, Code: CodeConflict, Message: "is another one at the user who is here"})
		}
	}
	k, owner, other := h.byName[n.user.Username], h.owner(n.user.Aliases), h.byExternalID[n.user.ExternalID]
	for _, d := range []struct {
		k     *known
		field string
	}{{k, "username"}, {owner, "aliases"}, {other, "external_id"}} {
		if d.k != nil && d.k.Deleted {
			return []invalid.Field{{Field: d.field, Code: CodeConflict, Message: "is of an account that was deleted, until that is purged"}}, true
		}
	}
	switch {
	case k == nil && other != nil:
		conflict(true, "username")
		return conflicts, true
	case k == nil && owner != nil:
		return []invalid.Field{{Field: "aliases", Code: CodeConflict, Message: "has one of another user"}}, true
	case k == nil:
		return rest.compare(n)
	}
	conflict(k.Username != n.user.Username, "username") // it is an alias of that user
	conflict(k.ExternalID != n.user.ExternalID, "external_id")
	if len(n.user.Aliases) > 0 && !slices.Equal(k.Aliases, n.user.Aliases) {
		conflicts = append(conflicts, invalid.Field{Field: "aliases", Code: CodeConflict, Message: "are others at the user who is here"})
	}
	conflict(k.Role != n.user.Role, "role")
	conflict(k.Disabled() != n.user.Disabled(), "disabled")
	conflict(n.said && !k.CreatedAt.Equal(n.user.CreatedAt), "created")
	conflict(!k.has(n), "password_hash")
	return conflicts, true
}

// owner is somebody who has one of the aliases, as alias or as username; nil if nobody has.
func (h here) owner(aliases []string) *known {
	for _, alias := range aliases {
		if k := h.byName[alias]; k != nil {
			return k
		}
	}
	return nil
}

// has reports whether the user has the hash of a line, or may have had it before a login or a new
// password replaced it. The second holds only if the external ID, or the time of creation, says
// that both are the same person.
func (k *known) has(n *newcomer) bool {
	if k.line != nil {
		return k.line.hash.Same(n.hash)
	}
	same := n.user.ExternalID != "" && k.ExternalID == n.user.ExternalID || n.user.ExternalID == "" && n.said && k.CreatedAt.Equal(n.user.CreatedAt)
	switch {
	case n.hash.IsZero():
		return k.PasswordHash.IsZero() || same
	case same && k.PasswordHash.Ours():
		return true
	}
	return n.hash.Is(k.PasswordHash)
}

// A dry is what a dry run would have added, by what it hashes to: a run that adds finds it
// in the store. It is nil for such a run.
type dry struct {
	seed maphash.Seed
	ids  map[uint64]uint64 // from a name or an external ID to the line
}

func newDry(is bool) *dry {
	if !is {
		return nil
	}
	return &dry{maphash.MakeSeed(), map[uint64]uint64{}}
}

func (d *dry) add(fresh []newcomer) {
	if d == nil {
		return
	}
	for i := range fresh {
		u := &fresh[i].user
		all := d.all(&fresh[i])
		for _, name := range append([]string{u.Username}, u.Aliases...) {
			d.ids[d.id("username", name)] = all
		}
		if len(u.Aliases) > 0 {
			d.ids[d.id("aliases", u.Username)] = d.aliases(u)
		}
		if u.ExternalID != "" {
			d.ids[d.id("external_id", u.ExternalID)] = all
		}
	}
}

// compare is that of here.
func (d *dry) compare(n *newcomer) (conflicts []invalid.Field, found bool) {
	if d == nil {
		return nil, false
	}
	type id struct{ field, of, value string }
	ids := []id{{"username", "username", n.user.Username}, {"external_id", "external_id", n.user.ExternalID}}
	for _, alias := range n.user.Aliases {
		ids = append(ids, id{"aliases", "username", alias})
	}
	for _, id := range ids {
		all, found := d.ids[d.id(id.of, id.value)]
		switch {
		case id.value == "" || !found:
		case all == d.all(n):
			if u := &n.user; len(u.Aliases) == 0 || d.ids[d.id("aliases", u.Username)] == d.aliases(u) {
				return nil, true
			}
			id.field = "aliases"
			fallthrough
		default:
			return []invalid.Field{{Field: id.field, Code: CodeConflict, Message: "is that of a line before, which is another one"}}, true
		}
	}
	return nil, false
}

func (d *dry) id(field, value string) uint64 { return maphash.String(d.seed, field+"\x00"+value) }

func (d *dry) aliases(u *account.User) uint64 {
	return maphash.String(d.seed, strings.Join(u.Aliases, " "))
}

func (d *dry) all(n *newcomer) uint64 {
	at := int64(0)
	if n.said {
		at = n.user.CreatedAt.UnixMilli()
	}
	return maphash.Comparable(d.seed, struct {
		name, externalID string
		role             account.Role
		disabled         bool
		at               int64
		hash             uint64
	}{n.user.Username, n.user.ExternalID, n.user.Role, n.user.Disabled(), at, n.hash.Sum(d.seed)})
}
