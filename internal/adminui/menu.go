package adminui

// A menuItem is a page that the menu leads to.
type menuItem struct {
	Path, Name string
	Current    bool
}

// Menu leads to all pages.
func (f frame) Menu() []menuItem {
	items := []menuItem{
		{Path: homePath, Name: f.T.Overview},
		{Path: expiryPath, Name: f.T.Expiry},
		{Path: auditPath, Name: f.T.Audit},
	}
	for i := range items {
		items[i].Current = items[i].Path == f.Here
	}
	return items
}
