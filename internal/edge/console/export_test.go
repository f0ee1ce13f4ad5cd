package console

import "net/http"

// Paths are those of every page that Handler serves.
func (u *UI) Paths() []string {
	var all paths
	u.routes(&all)
	return all
}

type paths []string

func (p *paths) HandleFunc(path string, _ func(http.ResponseWriter, *http.Request)) {
	*p = append(*p, path)
}
