package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

const keysPath = "/console/keys"

// keyLives are the times that a key can be made for, in days; 0 is for ever.
var keyLives = []string{"0", "30", "90", "365"}

// serviceKeys is a page of the keys of a service.
type serviceKeys struct {
	Keys          []keyLine
	Newest, Older string // the URLs of the first page and the next; may be empty
	Action        string // where a new one is asked for
	Scopes        []option
	Lives         []option
}

// A keyLine is a key, and its state in words.
type keyLine struct {
	servicekey.Key
	Can   string // its scopes
	Over  bool
	State string // if it is over
}

// serviceKeys returns the page of keys that the request asks for, and nil for a user for
// whom nothing is shown: one that is no service, and has no key. It answers the request,
// and returns false, if that cannot be found out.
func (q *request) serviceKeys(p *account.User, f frame) (*serviceKeys, bool) {
	path := userPath(p.ID)
	page := serviceKeys{Action: path + "/keys"}
	before, ok := q.cursor("keys_before", q.t.Text("keys.title"))
	if !ok {
		return nil, false
	}
	if before != 0 {
		page.Newest = path
	}
	keys, err := q.u.People.Keys.ListKeys(q.r.Context(), p.ID, before, listPage+1)
	if err != nil {
		q.unavailable("service keys", err)
		return nil, false
	}
	if len(keys) == 0 && before == 0 && p.Role != account.RoleService {
		return nil, true
	}
	for _, k := range firstPage(keys, listPage, func(last *servicekey.Key) { page.Older = linkTo(path, "keys_before", last.ID.String()) }) {
		line := keyLine{Key: k, Can: strings.Join(k.Scopes.Names(), ", "), Over: k.Over(q.u.Now())}
		switch {
		case !k.RevokedAt.IsZero():
			line.State = q.t.Text("keys.revoked")
		case line.Over:
			line.State = q.t.Text("keys.expired")
		}
		page.Keys = append(page.Keys, line)
	}
	if p.Role == account.RoleService {
		for _, scope := range servicekey.Known() {
			page.Scopes = append(page.Scopes, option{string(scope), q.t.Name("scope", string(scope)), f.Sent("key", "scope_"+string(scope)) != ""})
		}
		for _, days := range keyLives {
			page.Lives = append(page.Lives, option{days, q.keyLife(days), days == f.Sent("key", "life")})
		}
	}
	return &page, true
}

func (q *request) keyLife(days string) string {
	if days == "0" {
		return q.t.Text("keys.no_end")
	}
	n, _ := time.ParseDuration(days + "h")
	return q.t.span(24 * n)
}

// madeView is what made-key.html shows, once.
type madeView struct {
	frame
	User     string // the path of the page of its account
	Username string
	made     operator.MadeKey
}

// Key is the secret, for this page and nothing else.
func (v madeView) Key() string { return v.made.Secret.Reveal() }

// Name is where the key is used.
func (v madeView) Name() string { return v.made.Name }

func (u *UI) createKey(q *request, id idworker.ID, form url.Values) {
	days, err := time.ParseDuration(form.Get("life") + "h")
	if err != nil || days < 0 || days > 10_000*time.Hour {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	n := operator.NewKey{Name: typed(form, "name"), Reason: typed(form, "reason")}
	for _, scope := range servicekey.Known() {
		if form.Get("scope_"+string(scope)) != "" {
			n.Scopes = append(n.Scopes, string(scope))
		}
	}
	if days > 0 {
		n.ExpiresAt = u.Now().Add(24 * days)
	}
	var person operator.Person
	var made operator.MadeKey
	ok, err := q.withProof(form, "key", q.showUser, func() (err error) {
		if person, err = u.People.Users.Get(q.r.Context(), id); err == nil {
			made, err = u.People.Keys.CreateKey(q.r.Context(), q.operator(), id, n)
		}
		return err
	})
	if !ok {
		return
	}
	if err != nil {
		q.failed("service key made", err, q.showUser)
		return
	}
	f := q.frame(q.t.Text("keys.made_title"), usersPath, "given.js")
	f.Back = "" // another language would have to make another key
	q.render(http.StatusCreated, "made-key", madeView{frame: f, User: userPath(id), Username: person.Username, made: made})
}

// revokeKey ends a key, and leads back to the page of its account.
func (u *UI) revokeKey(q *request, form url.Values) {
	id, err := idworker.ParseID(form.Get("id"))
	if err != nil {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	k, err := u.People.Keys.RevokeKey(q.r.Context(), q.operator(), id, typed(form, "reason"))
	switch {
	case errors.Is(err, servicekey.ErrNotFound):
		q.message(http.StatusNotFound, q.t.message("form_gone"))
	case err != nil:
		q.failed("service key revoked", err, q.plainly(q.t.Text("keys.title")))
	default:
		q.redirect(userPath(k.UserID), url.Values{"done": {"key_revoked"}})
	}
}
