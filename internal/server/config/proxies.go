package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

func parseProxies(v string) (nets []netip.Prefix, err error) {
	for _, item := range strings.Split(v, ",") {
		p, err := parseProxy(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(nets, p) {
			nets = append(nets, p)
		}
	}
	return nets, nil
}

func parseProxy(item string) (netip.Prefix, error) {
	if item == "" {
		return netip.Prefix{}, errors.New("there is nothing between two commas or beside one; remove the comma")
	}
	p, err := netip.ParsePrefix(item)
	if err != nil {
		a, err := netip.ParseAddr(item)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%s is neither an IP address nor a network; write for example 10.0.0.7 or 10.0.0.0/8", quoted(item))
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	// ::ffff:0:0/96 is the whole of IPv4 in other clothes, and a peer's address
	// is compared without them.
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("%s would believe everybody, so that any client could claim any address; name the proxies, for example 10.0.0.7 or 10.0.0.0/8", quoted(item))
	}
	if m := p.Masked(); m != p {
		return netip.Prefix{}, fmt.Errorf("%s has bits set after its prefix; write %s for the network, or %s for the one address", quoted(item), m, p.Addr())
	}
	return p, nil
}

func showProxies(nets []netip.Prefix) string {
	items := make([]string, len(nets))
	for i, p := range nets {
		items[i] = p.String()
	}
	return strings.Join(items, ",")
}
