package clientaddr_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// Whom these tests trust.
var trusted = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8"),
}

// of asks for a request from that peer, with headers as name, value, ...
func of(peer string, headers ...string) (string, error) {
	r := &http.Request{RemoteAddr: peer, Header: http.Header{}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	a, err := clientaddr.Of(r, trusted)
	return clientaddr.Text(a), err
}

// TestAddressIsTheNearestThatNoProxyOfOursHas.
func TestAddressIsTheNearestThatNoProxyOfOursHas(t *testing.T) {
	t.Parallel()
	const xff, fwd = "X-Forwarded-For", "Forwarded"
	for name, c := range map[string]struct {
		peer    string
		headers []string
		want    string
	}{
		"no header":                               {"203.0.113.9:80", nil, "203.0.113.9"},
		"a stranger claims":                       {"203.0.113.9:80", []string{xff, "198.51.100.1", fwd, "for=198.51.100.1"}, "203.0.113.9"},
		"one proxy":                               {"10.0.0.1:80", []string{xff, "198.51.100.1"}, "198.51.100.1"},
		"one proxy, as Forwarded":                 {"10.0.0.1:80", []string{fwd, "for=198.51.100.1"}, "198.51.100.1"},
		"a proxy that is silent":                  {"10.0.0.1:80", nil, "10.0.0.1"},
		"an empty header":                         {"10.0.0.1:80", []string{xff, "", fwd, " "}, "10.0.0.1"},
		"appended to a claim":                     {"10.0.0.1:80", []string{xff, "1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		"a line of its own":                       {"10.0.0.1:80", []string{xff, "1.1.1.1", xff, "198.51.100.1"}, "198.51.100.1"},
		"several proxies":                         {"10.0.0.1:80", []string{xff, "1.1.1.1, 198.51.100.1,192.0.2.7 ,10.9.9.9"}, "198.51.100.1"},
		"several lines":                           {"10.0.0.1:80", []string{xff, "1.1.1.1, 198.51.100.1", xff, "192.0.2.7", xff, "10.9.9.9"}, "198.51.100.1"},
		"all are ours":                            {"10.0.0.1:80", []string{xff, "10.0.0.5, 10.0.0.6"}, "10.0.0.5"},
		"garbage behind the address":              {"10.0.0.1:80", []string{xff, "<script>, 198.51.100.1"}, "198.51.100.1"},
		"garbage from the proxy":                  {"10.0.0.1:80", []string{xff, "198.51.100.1, unix:"}, "10.0.0.1"},
		"garbage from the second":                 {"10.0.0.1:80", []string{xff, "198.51.100.1, unix:, 10.0.0.2"}, "10.0.0.2"},
		"nothing between commas":                  {"10.0.0.1:80", []string{xff, "198.51.100.1,"}, "10.0.0.1"},
		"an empty line after":                     {"10.0.0.1:80", []string{xff, "198.51.100.1", xff, ""}, "10.0.0.1"},
		"a name":                                  {"10.0.0.1:80", []string{xff, "localhost"}, "10.0.0.1"},
		"the unspecified address":                 {"10.0.0.1:80", []string{xff, "0.0.0.0"}, "10.0.0.1"},
		"leading zeros":                           {"10.0.0.1:80", []string{xff, "198.051.100.001"}, "10.0.0.1"},
		"a number":                                {"10.0.0.1:80", []string{xff, "3325256705"}, "10.0.0.1"},
		"a port":                                  {"10.0.0.1:80", []string{xff, "198.51.100.1:4711"}, "198.51.100.1"},
		"a port that is none":                     {"10.0.0.1:80", []string{xff, "198.51.100.1:http"}, "10.0.0.1"},
		"IPv6":                                    {"10.0.0.1:80", []string{xff, "2001:db8::1"}, "2001:db8::1"},
		"IPv6 in brackets":                        {"10.0.0.1:80", []string{xff, "[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 and a port":                         {"10.0.0.1:80", []string{xff, "[2001:db8::1]:443"}, "2001:db8::1"},
		"IPv6 in full":                            {"10.0.0.1:80", []string{xff, "2001:0DB8:0:0:0:0:0:1"}, "2001:db8::1"},
		"a zone":                                  {"10.0.0.1:80", []string{xff, "fe80::1%eth0"}, "fe80::1"},
		"IPv4 in other clothes":                   {"10.0.0.1:80", []string{xff, "::ffff:198.51.100.1"}, "198.51.100.1"},
		"a proxy in other clothes":                {"[::ffff:10.0.0.1]:80", []string{xff, "198.51.100.1, ::ffff:10.0.0.2"}, "198.51.100.1"},
		"a proxy with a zone":                     {"[fd00::1%eth0]:80", []string{xff, "198.51.100.1"}, "198.51.100.1"},
		"IPv4 in brackets":                        {"10.0.0.1:80", []string{xff, "[198.51.100.1]"}, "10.0.0.1"},
		"a bracket left open":                     {"10.0.0.1:80", []string{xff, "[2001:db8::1"}, "10.0.0.1"},
		"text behind a bracket":                   {"10.0.0.1:80", []string{xff, "[2001:db8::1]x"}, "10.0.0.1"},
		"a peer without an address":               {"@", []string{xff, "198.51.100.1"}, ""},
		"a peer without a port":                   {"10.0.0.1", []string{xff, "198.51.100.1"}, "198.51.100.1"},
		"other headers do not count":              {"10.0.0.1:80", []string{"X-Real-Ip", "1.1.1.1", "True-Client-Ip", "1.1.1.1", "Cf-Connecting-Ip", "1.1.1.1", "X-Client-Ip", "1.1.1.1", "Via", "1.1.1.1"}, "10.0.0.1"},
		"Forwarded, RFC 7239 (4)":                 {"10.0.0.1:80", []string{fwd, `for="_gazonk"`}, "10.0.0.1"},
		"Forwarded, IPv6 and a port":              {"10.0.0.1:80", []string{fwd, `For="[2001:db8:cafe::17]:4711"`}, "2001:db8:cafe::17"},
		"Forwarded, all parameters":               {"10.0.0.1:80", []string{fwd, "for=198.51.100.1;proto=http;by=203.0.113.43"}, "198.51.100.1"},
		"Forwarded, for comes last":               {"10.0.0.1:80", []string{fwd, `by="[fd00::1]";host="a;for=1.1.1.1,for=2.2.2.2";FOR="198.51.100.1:80"`}, "198.51.100.1"},
		"Forwarded, a chain":                      {"10.0.0.1:80", []string{fwd, "for=198.51.100.1, for=10.0.0.2"}, "198.51.100.1"},
		"Forwarded, a line each":                  {"10.0.0.1:80", []string{fwd, "for=1.1.1.1", fwd, "for=198.51.100.1, for=10.0.0.2", fwd, `for="[fd00::2]"`}, "198.51.100.1"},
		"Forwarded, unknown":                      {"10.0.0.1:80", []string{fwd, "for=198.51.100.1, for=unknown, for=10.0.0.2"}, "10.0.0.2"},
		"Forwarded, a hidden port":                {"10.0.0.1:80", []string{fwd, `for="198.51.100.1:_x.1"`}, "198.51.100.1"},
		"Forwarded, for twice":                    {"10.0.0.1:80", []string{fwd, "for=198.51.100.1;for=1.1.1.1"}, "10.0.0.1"},
		"Forwarded, no for":                       {"10.0.0.1:80", []string{fwd, "for=1.1.1.1, proto=https"}, "10.0.0.1"},
		"Forwarded, escaped":                      {"10.0.0.1:80", []string{fwd, `for="198\.51.100.1";x="\"a,\\"`}, "198.51.100.1"},
		"Forwarded, a mark left open":             {"10.0.0.1:80", []string{fwd, `for="1.1.1.1, for=198.51.100.1`}, "198.51.100.1"},
		"Forwarded, an open one and IPv6":         {"10.0.0.1:80", []string{fwd, `for=1.1.1.1;x="\, for="[2001:db8::1]:80";proto=https`}, "2001:db8::1"},
		"Forwarded, an escape that hides the end": {"10.0.0.1:80", []string{fwd, `for="198.51.100.1\"`}, "10.0.0.1"},
		"both, alike":                             {"10.0.0.1:80", []string{xff, "198.51.100.1:80", fwd, "for=198.51.100.1"}, "198.51.100.1"},
	} {
		got, err := of(c.peer, c.headers...)
		if got != c.want || (err != nil && !errors.Is(err, clientaddr.ErrStrange)) {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, c.want)
		}
	}
}

// TestTwoHeadersThatDisagreeChooseNoAddress: behind a proxy that writes one of
// them, a client can write the other, and cannot become who it likes.
func TestTwoHeadersThatDisagreeChooseNoAddress(t *testing.T) {
	t.Parallel()
	for _, headers := range [][]string{
		{"X-Forwarded-For", "198.51.100.1", "Forwarded", "for=1.1.1.1"},
		{"X-Forwarded-For", "198.51.100.1", "Forwarded", "for=unknown"},
		{"X-Forwarded-For", "198.51.100.1", "Forwarded", "nonsense"},
		{"X-Forwarded-For", "nonsense", "Forwarded", "for=198.51.100.1"},
		{"X-Forwarded-For", "198.51.100.1, 10.0.0.2", "Forwarded", "for=10.0.0.2"},
	} {
		if got, err := of("10.0.0.1:80", headers...); got != "10.0.0.1" || !errors.Is(err, clientaddr.ErrDisagree) {
			t.Errorf("%v: got %q and %v", headers, got, err)
		}
	}
}

// TestProxyOfOurOwnNetworkIsStrangeUntilItIsConfigured: a stranger's invention is
// nothing to tell an operator.
func TestProxyOfOurOwnNetworkIsStrangeUntilItIsConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer, header string
		strange      bool
	}{
		{"172.16.0.1:5", "X-Forwarded-For", true}, {"172.16.0.1:5", "Forwarded", true}, {"127.0.0.1:5", "X-Forwarded-For", true},
		{"[::1]:5", "X-Forwarded-For", true}, {"172.16.0.1:5", "X-Real-Ip", false}, {"203.0.113.9:5", "X-Forwarded-For", false},
		{"10.0.0.1:5", "X-Forwarded-For", false},
	} {
		if _, err := of(c.peer, c.header, "198.51.100.1"); errors.Is(err, clientaddr.ErrStrange) != c.strange {
			t.Errorf("%s with %s: %v", c.peer, c.header, err)
		}
	}
}

// FuzzAppendedAddressCounts: whatever a client sends, in either header and on any
// number of lines, the address is what the proxies append, in either manner:
// behind what is on the last line, or on a line of its own.
func FuzzAppendedAddressCounts(f *testing.F) {
	for _, claim := range []string{
		"", "1.1.1.1", "1.1.1.1,", "for=1.1.1.1", `for="1.1.1.1`, `for="`, `"`, `\`, `"\`, `for=1.1.1.1;x="\`, `for=1.1.1.1;x="`, "for=1.1.1.1\n\"",
		"unknown", "10.0.0.3", "for=10.0.0.3", `"",`, `for="[2001:db8::1]:1`, ";", "for=1.1.1.1;", "a\nb\n\nc", "10.0.0.3\n10.0.0.4,", `\\"\\`,
	} {
		f.Add(claim, claim)
	}
	f.Fuzz(func(t *testing.T, claim, other string) {
		for _, client := range []string{"198.51.100.1", "2001:db8:1::2"} {
			plain, quoted := client, "for="+client
			if strings.Contains(client, ":") {
				plain, quoted = "["+client+"]:443", `for="[`+client+`]:443"`
			}
			for _, proxies := range []int{1, 2} {
				for _, ownLine := range []bool{false, true} {
					h := http.Header{"X-Forwarded-For": strings.Split(claim, "\n"), "Forwarded": nil}
					h["X-Forwarded-For"] = appended(h["X-Forwarded-For"], ownLine, plain)
					if proxies == 2 {
						h["X-Forwarded-For"] = appended(h["X-Forwarded-For"], ownLine, "10.0.0.2")
					}
					expect(t, h, client)

					h = http.Header{"Forwarded": appended(strings.Split(claim, "\n"), ownLine, quoted+";proto=https;by=_a")}
					if proxies == 2 {
						h["Forwarded"] = appended(h["Forwarded"], ownLine, `proto="http";for="10.0.0.2:80"`)
					}
					expect(t, h, client)

					// The other header is the client's own. It may appear as the
					// proxy, and as no other client.
					h["X-Forwarded-For"] = strings.Split(other, "\n")
					expect(t, h, client, "10.0.0.1")
				}
			}
		}
	})
}

func appended(lines []string, ownLine bool, entry string) []string {
	if ownLine || len(lines) == 0 {
		return append(lines, entry)
	}
	lines = append([]string(nil), lines...)
	lines[len(lines)-1] += ", " + entry
	return lines
}

func expect(t *testing.T, h http.Header, want ...string) {
	t.Helper()
	a, _ := clientaddr.Of(&http.Request{RemoteAddr: "10.0.0.1:5", Header: h}, trusted)
	for _, w := range want {
		if clientaddr.Text(a) == w {
			return
		}
	}
	t.Errorf("got %v for %q, want one of %v", a, h, want)
}
