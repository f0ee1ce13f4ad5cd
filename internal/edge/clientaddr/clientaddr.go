// Package clientaddr says from which address a request comes: the one place that
// reads the headers of proxies about it. Rate limits, the log, and the audit record
// all use it.
//
// A header counts only if a proxy of the operator has written it. Each proxy appends the address of
// its peer to the header that it received. So the entries are read from the right. Everything left
// of the first address that is no trusted proxy may have been written by the client.
package clientaddr

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
)

var (
	// ErrStrange means that a peer with a private or loopback address, which is not trusted, has
	// sent one of the headers. In all likelihood it is a proxy that is not configured. The address
	// of the peer counts.
	ErrStrange = errors.New("clientaddr: a proxy that is not in FLAKEPASS_TRUSTED_PROXIES hands requests on; " +
		"all its clients share the limits of one address")

	// ErrDisagree means that X-Forwarded-For and Forwarded lead to two different addresses. In all
	// likelihood the proxy writes one of them, and passes on the other as the client has sent it.
	// The address of the peer counts.
	ErrDisagree = errors.New("clientaddr: X-Forwarded-For and Forwarded name different clients, so neither is believed; " +
		"let the proxy remove the one that it does not write")
)

// Of is the address of the client that sent r, as far as the proxies in trusted say. An entry of a
// header counts only if all proxies between it and this server are trusted. An IPv4-mapped IPv6
// address is IPv4, and there is never a zone (RFC 4007 section 6: it means nothing on another
// machine). Of is the zero address if the peer has none, as on a Unix socket.
//
// A proxy may write that it does not know the address (RFC 7239 section 6), or a text that is no
// address. Then the address of that proxy counts. If both headers are there, they have to lead to
// the same address.
//
// An error is for the operator: [ErrStrange] or [ErrDisagree]. The address can be used all the
// same: it is the address of the peer, which no header can change.
func Of(r *http.Request, trusted []netip.Prefix) (netip.Addr, error) {
	peer := peerOf(r.RemoteAddr)
	if !peer.IsValid() {
		return netip.Addr{}, nil
	}
	plain, standard := r.Header["X-Forwarded-For"], r.Header["Forwarded"]
	if !within(trusted, peer) {
		if (len(plain) > 0 || len(standard) > 0) && (peer.IsPrivate() || peer.IsLoopback()) {
			return peer, ErrStrange
		}
		return peer, nil
	}
	switch {
	case blank(plain) && blank(standard):
		return peer, nil
	case blank(standard):
		return walk(peer, trusted, entries(plain)), nil
	case blank(plain):
		return walk(peer, trusted, elements(standard)), nil
	}
	a, b := walk(peer, trusted, entries(plain)), walk(peer, trusted, elements(standard))
	if a != b {
		return peer, ErrDisagree
	}
	return a, nil
}

// walk goes from the peer towards the client for as long as it meets trusted
// proxies whose entry can be read.
func walk(peer netip.Addr, trusted []netip.Prefix, hops func(yield func(netip.Addr) bool)) netip.Addr {
	at := peer
	for next := range hops {
		if !next.IsValid() {
			break
		}
		if at = next; !within(trusted, at) {
			break
		}
	}
	return at
}

func within(trusted []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// peerOf is the address that is connected, from the RemoteAddr of a request.
func peerOf(remote string) netip.Addr {
	if at, err := netip.ParseAddrPort(remote); err == nil {
		return usual(at.Addr())
	}
	a, err := netip.ParseAddr(remote)
	if err != nil {
		return netip.Addr{}
	}
	return usual(a)
}

// usual is the one spelling of an address.
func usual(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

// Text is how an address is written into a log or a record: empty if there is
// none.
func Text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
