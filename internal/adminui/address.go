package adminui

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address is where a request comes from: the nearest address that is no
// trusted proxy. What a client itself puts into X-Forwarded-For is farther.
func (u *UI) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	trusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(u.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
	}
	at, err := netip.ParseAddr(host)
	if err != nil || !trusted(at) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if at = next; !trusted(at) {
			break
		}
	}
	return at.String()
}
