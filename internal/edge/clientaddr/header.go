package clientaddr

import (
	"iter"
	"net/netip"
	"slices"
	"strings"
)

// blank reports whether a header says nothing at all.
func blank(lines []string) bool {
	return !slices.ContainsFunc(lines, func(line string) bool { return strings.Trim(line, " \t") != "" })
}

// entries are the addresses of X-Forwarded-For, the last first; the zero address
// for what is none. Several lines are one list (RFC 9110 section 5.3).
func entries(lines []string) iter.Seq[netip.Addr] { return backward(lines, cutLast, node) }

// elements are the addresses in the for= of each element of Forwarded (RFC 7239
// section 4), the last first; the zero address for what is none.
//
// They are split from the right. What a proxy appends is well-formed, so a
// quotation mark that a client leaves open to the left swallows nothing of it.
func elements(lines []string) iter.Seq[netip.Addr] { return backward(lines, cutLastUnquoted, forOf) }

// backward reads what is between the commas, at which cut cuts, the last first.
func backward(lines []string, cut func(s string, sep byte) (before, after string, found bool), read func(string) netip.Addr) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, line := range slices.Backward(lines) {
			for found := true; found; {
				var part string
				if line, part, found = cut(line, ','); !yield(read(part)) {
					return
				}
			}
		}
	}
}

// forOf is the address of an element's one parameter for.
func forOf(element string) (at netip.Addr) {
	seen := false
	for found := true; found; {
		var pair string
		element, pair, found = cutLastUnquoted(element, ';')
		name, value, ok := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !ok || !strings.EqualFold(name, "for") {
			continue
		}
		if seen { // forbidden, and each reader would choose another
			return netip.Addr{}
		}
		seen = true
		if text, ok := unquote(value); ok {
			at = node(text)
		}
	}
	return at
}

// node is an address with or without a port: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, [2001:db8::1], [2001:db8::1]:80 (RFC 7239 section 6). It is the
// zero address for everything else: unknown, _hidden, a name, and the
// unspecified address (0.0.0.0).
func node(text string) netip.Addr {
	if a := parse(strings.Trim(text, " \t")); a.IsValid() && !a.IsUnspecified() {
		return a
	}
	return netip.Addr{}
}

func parse(text string) netip.Addr {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		inside, port, ok := strings.Cut(inside, "]")
		a, err := netip.ParseAddr(inside)
		if !ok || err != nil || !a.Is6() || (port != "" && !isPort(port)) {
			return netip.Addr{}
		}
		return usual(a)
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return usual(a)
	}
	host, port, ok := strings.Cut(text, ":")
	a, err := netip.ParseAddr(host)
	if !ok || err != nil || !isPort(":"+port) {
		return netip.Addr{}
	}
	return usual(a)
}

// isPort: a colon and one to five digits, or a hidden one, that begins with an
// underscore.
func isPort(text string) bool {
	port, ok := strings.CutPrefix(text, ":")
	if hidden, is := strings.CutPrefix(port, "_"); is {
		return ok && hidden != "" && strings.Trim(hidden, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
	}
	return ok && port != "" && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
}

// unquote is what a token or a quoted string means (RFC 9110 section 5.6.4).
func unquote(value string) (string, bool) {
	if !strings.HasPrefix(value, `"`) {
		return value, !strings.Contains(value, `"`)
	}
	if len(value) < 2 || !strings.HasSuffix(value, `"`) {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(value)-1; i++ {
		switch value[i] {
		case '"':
			return "", false
		case '\\':
			if i++; i == len(value)-1 {
				return "", false // the last mark is part of the text
			}
		}
		b.WriteByte(value[i])
	}
	return b.String(), true
}

// cutLast is strings.Cut at the last separator; without one, all is after it.
func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}

// cutLastUnquoted is cutLast at the last separator outside quotation marks, as
// they are met from the right.
func cutLastUnquoted(s string, sep byte) (before, after string, found bool) {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"' && (!quoted || !escaped(s[:i])):
			quoted = !quoted
		case s[i] == sep && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return "", s, false
}

// escaped reports whether what follows s is escaped by the backslashes at its
// end.
func escaped(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}
