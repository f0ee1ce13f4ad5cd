package console_test

import (
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// A page behind the end of a list is empty, and the list is not.
func TestPageBehindTheEndDoesNotSayThatThereIsNothing(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	w.giveKeys(crowd, 1)
	w.giveOpenLinks(1)
	w.record.events = happened(3)
	c := w.enter()
	for path, not := range map[string]string{
		"/console/users?after=7":                      "There are no users yet.",
		"/console/users?name=user&after=dXNlcjAwMQ":   "No user has such a name.",
		"/console/users/9?keys_before=1":              "There is no key yet.",
		"/console/users/7?links_before=1":             "No link of this person works now.",
		"/console/logins?before=1":                    "No user is logged in.",
		"/console/logins?before=1&device_class=phone": "No user is logged in on such a device.",
		"/console/audit?before=1":                     "Nothing was done yet.",
		"/console/audit?before=1&action=login.ended":  "Nothing matches.",
	} {
		page := w.see(c, path)
		wantStatus(t, page, 200)
		wantText(t, page, "There is nothing more in this list.")
		wantNoText(t, page, not)
	}
}

// What is no longer there is named: the address is right, and no link is missing.
func TestPageOfADeletedUserSaysThatTheUserIsNotThere(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	w.giveKeys(crowd, 1)
	w.giveResets()
	c := w.enter()
	const user = "There is no such user"
	for says, pages := range map[string][]*httptest.ResponseRecorder{
		user: {
			w.see(c, "/console/users/99"), w.see(c, "/console/users/x"),
			w.sendForm(c, "/console/users/99", "do", "disabled"), w.sendForm(c, "/console/users/x", "do", "disabled"),
			w.sendForm(c, "/console/users/99/reset", "life", "3600"),
			w.sendForm(c, "/console/users/99/keys", "name", "billing", "scope_verify", "on", "life", "90"),
		},
		"What the form was for is no longer there": {
			w.sendForm(c, "/console/keys/revoke", "id", "41"), w.sendForm(c, "/console/expiry/revert", "to", "9", "version", "1"),
		},
	} {
		for _, page := range pages {
			wantStatus(t, page, 404)
			wantText(t, page, says)
			wantNoText(t, page, "This page does not exist")
		}
	}
	crowd.err = account.ErrNotFound // deleted while the form was open
	wantText(t, w.sendForm(c, "/console/users/8", "do", "disabled"), user, "Nothing was changed.")
}
