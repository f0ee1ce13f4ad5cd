package console_test

import "testing"

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
