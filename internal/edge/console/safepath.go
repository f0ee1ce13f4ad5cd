package console

import (
	"net/url"
	"path"
	"strings"
)

// safePath is p if it leads to a page of the console, and the overview
// otherwise. It keeps the login page from sending anybody to another site.
func safePath(p string) string {
	if len(p) > 1000 || strings.ContainsAny(p, "\\\r\n\t\x00#") {
		return homePath
	}
	to, err := url.Parse(p)
	if err != nil || to.Scheme != "" || to.Host != "" || to.User != nil || to.Opaque != "" {
		return homePath
	}
	clean := path.Clean(to.Path)
	if !strings.HasPrefix(to.Path, homePath) || clean != strings.TrimSuffix(to.Path, "/") || to.EscapedPath() != to.Path {
		return homePath
	}
	if strings.HasPrefix(clean, usersPath+"/") && (strings.HasSuffix(clean, "/reset") || strings.HasSuffix(clean, "/reset/withdraw") || strings.HasSuffix(clean, "/second-factor")) {
		return homePath // for forms only
	}
	switch clean {
	case loginPath, codePath, setupPath, passwordPath, logoutPath, "/console/language", expiryPath + "/revert", loginsPath + "/end", loginsPath + "/end-all":
		return homePath
	}
	return to.String()
}
