package console

import (
	"context"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// OpenLinks are the verbs about the one-time links that a user has given out and that
// still work.
//
// ListResets returns at most limit of those that issuer gave out, newest first, with
// IDs below before (0: the newest). WithdrawIssued ends all of them, and returns how
// many there were; after an error some may have ended, and it helps to call it again.
// It fails with [account.ErrNotFound], or an [*invalid.Error] about the reason.
type OpenLinks interface {
	ListResets(ctx context.Context, issuer, before idworker.ID, limit int) ([]account.OpenReset, error)
	WithdrawIssued(ctx context.Context, by audit.Actor, issuer idworker.ID, reason string) (int, error)
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
	open, err := q.u.Open.ListResets(q.r.Context(), p.ID, before, listPage+1)
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
	_, err := u.Open.WithdrawIssued(q.r.Context(), q.operator(), id, typed(form, "reason"))
	q.userChanged(id, "links_withdrawn", "links withdrawn", err)
}
