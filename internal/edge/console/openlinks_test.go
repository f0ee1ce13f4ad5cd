package console_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// openLinks are links that work, in memory, newest first.
type openLinks struct {
	open  []account.OpenReset
	calls []string
	err   error
}

// giveOpenLinks makes n links that the admin 7 has given out to user001, and one of
// the user 9, who is no admin.
func (w *world) giveOpenLinks(n int) *openLinks {
	o := &openLinks{}
	for i := n; i > 0; i-- {
		o.open = append(o.open, account.OpenReset{
			ID: idworker.ID(100 + i), UserID: 8, Username: fmt.Sprintf("link%03d", i), Issuer: account.Issuer{ID: 7, Name: "ada"}, ExpiresAt: w.now.Add(time.Hour),
		})
	}
	o.open = append(o.open, account.OpenReset{ID: 99, UserID: 8, Username: "of-another", Issuer: account.Issuer{ID: 9, Name: "user002"}, ExpiresAt: w.now.Add(time.Hour)})
	w.ui.People.Open = o
	w.h = w.ui.Handler()
	return o
}

func (o *openLinks) ListResets(_ context.Context, issuer, before idworker.ID, limit int) (found []account.OpenReset, err error) {
	for _, r := range o.open {
		if r.Issuer.ID == issuer && (before == 0 || r.ID < before) && len(found) < limit {
			found = append(found, r)
		}
	}
	return found, o.err
}

func (o *openLinks) WithdrawIssued(_ context.Context, _ audit.Actor, issuer idworker.ID, reason string) (n int, err error) {
	if o.err != nil {
		return 0, o.err
	}
	if reason == "bad" {
		return 0, &invalid.Error{Fields: []invalid.Field{{Field: "reason", Code: "too_long", Message: "must be shorter"}}}
	}
	var kept []account.OpenReset
	for _, r := range o.open {
		if r.Issuer.ID != issuer {
			kept = append(kept, r)
		}
	}
	n, o.open = len(o.open)-len(kept), kept
	o.calls = append(o.calls, "withdraw all of "+issuer.String()+" "+reason)
	return n, nil
}

// The page of an admin lists the links that the admin has given out and that still
// work, a page at a time, and withdraws them all in one act.
func TestOpenLinksOfAnAdminAreListedAndWithdrawnInOneAct(t *testing.T) {
	w := newWorld(t)
	w.populate(4)
	o := w.giveOpenLinks(30)
	c := w.enter()
	page := w.see(c, "/console/users/7")
	wantText(t, page, "Open links made by this person", `<a href="/console/users/8"><bdi>link030</bdi></a>`, "link006", `href="/console/users/7?links_before=106"`, "Works until")
	wantNoText(t, page, "link005", "of-another")
	page = w.see(c, "/console/users/7?links_before=106")
	wantText(t, page, "link005", "link001", `href="/console/users/7"`)
	wantNoText(t, page, "link006", `rel="next"`)
	wantStatus(t, w.see(c, "/console/users/7?links_before=x"), 400)

	page = w.sendForm(c, "/console/users/7/resets/withdraw", "reason", "bad")
	wantStatus(t, page, 422)
	wantText(t, page, "Reason must be shorter.", "link030")

	page = w.sendForm(c, "/console/users/7/resets/withdraw", "reason", " laptop stolen ")
	wantStatus(t, page, 303)
	page = w.see(c, page.Header().Get("Location"))
	wantText(t, page, "no link of this person works now", "No link of this person works now.")
	if len(o.open) != 1 || len(o.calls) != 1 || o.calls[0] != "withdraw all of 7 laptop stolen" {
		t.Errorf("%d are left after %q", len(o.open), o.calls)
	}

	// A person who is no longer an admin may have given some; others have no list.
	wantText(t, w.see(c, "/console/users/9"), "of-another")
	wantNoText(t, w.see(c, "/console/users/8"), "Open links")

	o.err = errors.New("no route")
	wantStatus(t, w.see(c, "/console/users/7"), 503)
	wantStatus(t, w.sendForm(c, "/console/users/7/resets/withdraw"), 503)
	o.err = account.ErrNotFound
	wantStatus(t, w.sendForm(c, "/console/users/7/resets/withdraw"), 404)
}
