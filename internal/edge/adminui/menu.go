package adminui

import "slices"

// A menuItem is a page that the menu leads to.
type menuItem struct {
	Path, Name string
	Current    bool
}

// Menu leads to all pages.
func (f frame) Menu() []menuItem {
	items := []menuItem{
		{Path: homePath, Name: f.T.Overview},
		{Path: usersPath, Name: f.T.Users},
		{Path: loginsPath, Name: f.T.LoginList},
		{Path: expiryPath, Name: f.T.Expiry},
		{Path: limitsPath, Name: f.T.LimitPage.Title},
		{Path: auditPath, Name: f.T.Audit},
		{Path: accountPath, Name: f.T.Account.Title},
	}
	items = slices.DeleteFunc(items, func(i menuItem) bool { return !f.people && (i.Path == usersPath || i.Path == loginsPath) })
	items = slices.DeleteFunc(items, func(i menuItem) bool { return !f.own && i.Path == accountPath })
	for i := range items {
		items[i].Current = items[i].Path == f.Here
	}
	return items
}
