package throttle

import "net/netip"

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
