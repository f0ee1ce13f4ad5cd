package console

import "slices"

// A menuItem is a page that the menu leads to.
type menuItem struct {
	Path, Name string
	Current    bool
}

// Menu leads to all pages.
func (f frame) Menu() []menuItem {
	items := []menuItem{
		{Path: homePath, Name: f.T.Text("menu.overview")},
		{Path: usersPath, Name: f.T.Text("menu.users")},
		{Path: loginsPath, Name: f.T.Text("menu.logins")},
		{Path: expiryPath, Name: f.T.Text("menu.expiry")},
		{Path: limitsPath, Name: f.T.Text("limits.title")},
		{Path: auditPath, Name: f.T.Text("menu.audit")},
		{Path: accountPath, Name: f.T.Text("account.title")},
	}
	items = slices.DeleteFunc(items, func(i menuItem) bool { return !f.people && (i.Path == usersPath || i.Path == loginsPath) })
	for i := range items {
		items[i].Current = items[i].Path == f.Here
	}
	return items
}
