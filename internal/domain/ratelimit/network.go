package ratelimit

import (
	"net/netip"
	"strings"
)

// Network is the network that an address is counted with where one party may
// have many addresses: the first 24 bits of an IPv4 address, in either writing,
// and the first 48 of an IPv6 one, which is the most that one site is given (RFC
// 6177). It is the zero Prefix if there is no address.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// Place is an address as far as it tells one subscriber from another: IPv6 by
// its first 64 bits, which is what one is given (RFC 6177), IPv4 whole, in either
// writing.
func Place(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.IsValid() {
		return "unknown"
	}
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return strings.TrimSuffix(p.String(), "/64")
		}
	}
	return a.String()
}

// around are the networks by which attempts from an address are counted, the
// largest first: a subscriber of IPv6 may have 56 or 48 bits, and with them any
// number of places. The last is the place.
func around(a netip.Addr) []string {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return []string{Place(a)}
	}
	all := make([]string, 0, 3)
	for _, bits := range []int{48, 56} {
		if p, err := a.Prefix(bits); err == nil {
			all = append(all, p.String())
		}
	}
	return append(all, Place(a))
}
