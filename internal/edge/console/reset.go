package console

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// passwordPath is the page on which a person sets a password with the token of a
// reset. It needs no login.
const passwordPath = "/console/password"

// lives are the times that a link can be given for.
var lives = []time.Duration{account.MinResetLife, account.ResetLife, 8 * time.Hour, account.MaxResetLife}

// Lives are the choices of how long the link works.
func (v userView) Lives() []option {
	if seconds, err := strconv.Atoi(v.Sent("give", "life")); err == nil {
		return v.T.lives(time.Duration(seconds) * time.Second)
	}
	return v.T.lives(account.ResetLife)
}

func (t *texts) lives(chosen time.Duration) (all []option) {
	for _, d := range lives {
		all = append(all, option{strconv.Itoa(int(d / time.Second)), t.span(d), d == chosen})
	}
	return all
}

// readLife is the time that was chosen for a link. It answers the request, and
// returns false, for what no page of the console sends.
func (q *request) readLife(form url.Values) (time.Duration, bool) {
	seconds, err := strconv.Atoi(form.Get("life"))
	if err != nil || seconds < 1 || seconds > 1_000_000 {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// givenView is what given.html shows, once.
type givenView struct {
	frame
	User      string // the path of the page of the user it is for
	Username  string
	ExpiresAt time.Time
	Link      string // without scheme and host if they are not known
	link      account.ResetToken
}

// Token is the secret, for this page and nothing else.
func (v givenView) Token() string { return v.link.Reveal() }

// giveReset starts a reset, and shows the link.
func (u *UI) giveReset(q *request, id idworker.ID, form url.Values) {
	life, ok := q.readLife(form)
	if !ok {
		return
	}
	var person operator.Person
	var started operator.StartedReset
	ok, err := q.withProof(form, "give", q.showUser, func() (err error) {
		if person, err = u.People.Users.Get(q.r.Context(), id); err == nil {
			started, err = u.People.Resets.StartReset(q.r.Context(), q.operator(), id, life, typed(form, "reason"))
		}
		return err
	})
	if !ok {
		return
	}
	if err != nil {
		q.failed("reset started", err, q.showUser)
		return
	}
	q.showGiven(&person.User, started, "")
}

// showGiven shows a link, this once. done says what was done besides.
func (q *request) showGiven(user *account.User, started operator.StartedReset, done string) {
	f := q.frame(q.t.Text("reset.given_title"), usersPath, "given.js")
	f.Back, f.Done = "", done // another language would have to give out another link
	q.render(http.StatusCreated, "given", givenView{
		frame: f, User: userPath(user.ID), Username: user.Username, ExpiresAt: started.ExpiresAt, link: started.Token,
		// Never of the Host header, which the sender chooses. Where the URL is not
		// configured, a script takes what the operator's browser shows.
		Link: q.u.PublicURL + passwordPath + "#" + started.Token.Reveal(),
	})
}

func (u *UI) withdrawReset(q *request, id idworker.ID, form url.Values) {
	err := u.People.Resets.WithdrawReset(q.r.Context(), q.operator(), id, typed(form, "reason"))
	q.userChanged(id, "withdrawn", "reset withdrawn", err)
}

// openLinks is a page of the links that a user has given out.
type openLinks struct {
	Links         []account.OpenReset
	Newest, Older string // the URLs of the first page and the next; may be empty
	Action        string // where the form is sent
}

// openLinks returns the page of links that the request asks for, and nil for a user
// for whom nothing is shown: one that may not give out links, and has given out none.
// A user who is no longer an admin may have given out some. It answers the request,
// and returns false, if that cannot be found out.
func (q *request) openLinks(p *account.User) (*openLinks, bool) {
	path := userPath(p.ID)
	page := openLinks{Action: path + "/resets/withdraw"}
	before, ok := q.cursor("links_before", q.t.Text("open_links.title"))
	if !ok {
		return nil, false
	}
	if before != 0 {
		page.Newest = path
	}
	open, err := q.u.People.Open.ListResets(q.r.Context(), p.ID, before, listPage+1)
	if err != nil {
		q.unavailable("open links", err)
		return nil, false
	}
	if len(open) == 0 && before == 0 && p.Role != account.RoleAdmin {
		return nil, true
	}
	page.Links = firstPage(open, listPage, func(last *account.OpenReset) { page.Older = linkTo(path, "links_before", last.ID.String()) })
	return &page, true
}

// withdrawIssued ends all links that a user has given out.
func (u *UI) withdrawIssued(q *request, id idworker.ID, form url.Values) {
	q.keep("withdraw", form)
	_, err := u.People.Open.WithdrawIssued(q.r.Context(), q.operator(), id, typed(form, "reason"))
	q.userChanged(id, "links_withdrawn", "links withdrawn", err)
}
