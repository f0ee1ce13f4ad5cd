package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// OpenLinks are the verbs about the one-time links that somebody has given out and
// that still work.
//
// ListResets returns at most limit of those that issuer gave out, newest first, with
// IDs below before (0: the newest). WithdrawIssued ends all of them, and returns how
// many there were; after an error some may have ended, and it helps to call it again.
// It fails with [account.ErrNotFound], or an [*account.InvalidError] about the reason.
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
// about whom nothing is shown: one who may not give out links, and has given none. A
// person who is no longer an admin may have. It answers the request, and returns
// false, if it cannot tell.
func (v *visit) openLinks(p *account.User) (*openLinks, bool) {
	if v.u.Open == nil {
		return nil, true
	}
	path := usersPath + "/" + p.ID.String()
	page := openLinks{Action: path + "/resets/withdraw"}
	var before idworker.ID
	if text := v.r.URL.Query().Get("links_before"); text != "" && v.r.Method != http.MethodPost {
		var err error
		if before, err = idworker.ParseID(text); err != nil {
			v.message(http.StatusBadRequest, message{Title: v.t.Text("open_links.title"), Lines: []string{v.t.Text("audit.bad_cursor")}})
			return nil, false
		}
		page.Newest = path
	}
	open, err := v.u.Open.ListResets(v.r.Context(), p.ID, before, listPage+1)
	if err != nil {
		v.unavailable("open links", err)
		return nil, false
	}
	if len(open) == 0 && before == 0 && p.Role != account.RoleAdmin {
		return nil, true
	}
	if len(open) > listPage {
		open = open[:listPage]
		page.Older = path + "?" + url.Values{"links_before": {open[listPage-1].ID.String()}}.Encode()
	}
	page.Links = open
	return &page, true
}

// withdrawIssued ends all links that a user has given out.
func (u *UI) withdrawIssued(v *visit, form url.Values) {
	id, ok := v.id()
	if !ok {
		return
	}
	_, err := u.Open.WithdrawIssued(v.r.Context(), v.operator(), id, typed(form, "reason"))
	invalid, isInvalid := errors.AsType[*account.InvalidError](err)
	switch {
	case err == nil:
		v.see(usersPath+"/"+id.String(), url.Values{"done": {"links_withdrawn"}})
	case errors.Is(err, account.ErrNotFound):
		v.message(http.StatusNotFound, v.t.message("not_found"))
	case isInvalid:
		v.showUser(http.StatusUnprocessableEntity, v.sentences(invalid)[0])
	default:
		v.unavailable("password resets not withdrawn", err)
	}
}
