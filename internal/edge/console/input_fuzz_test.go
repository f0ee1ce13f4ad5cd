package console

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// FuzzAddress: who is no trusted proxy decides nothing with a header, and what
// is recorded is an address.
func FuzzAddress(f *testing.F) {
	f.Add("192.0.2.1:1", "198.51.100.9")
	f.Add("10.0.0.1:1", "203.0.113.5, 198.51.100.9, 10.0.0.2")
	f.Add("10.0.0.1:1", "rubbish, ::1%eth0, [::1]:80")
	f.Add("x", "\x00")
	u := &UI{Options: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	f.Fuzz(func(t *testing.T, remote, forwarded string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = remote
		alone := u.address(r)
		r.Header["X-Forwarded-For"] = []string{forwarded}
		got := u.address(r)
		direct, err := netip.ParseAddr(alone)
		proxy := err == nil && u.TrustedProxies[0].Contains(direct.Unmap())
		if !proxy && got != alone {
			t.Fatalf("%q from %q with the header %q", got, remote, forwarded)
		}
		if _, err := netip.ParseAddr(got); proxy && err != nil {
			t.Fatalf("%q from a proxy with the header %q", got, forwarded)
		}
	})
}

// FuzzLanguage: there is always a language, and the cookie goes before the
// header.
func FuzzLanguage(f *testing.F) {
	f.Add("zh-TW,en;q=0.5", "")
	f.Add("en;q=NaN,zh;q=+Inf,;;q=,*", "zh")
	f.Add(strings.Repeat("xx,", 30)+"zh", "\"")
	f.Fuzz(func(t *testing.T, header, cookie string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["Accept-Language"] = []string{header}
		if language(r) == nil {
			t.Fatalf("no language of %q", header)
		}
		r.Header["Cookie"] = []string{languageCookie + "=" + cookie}
		if got := language(r); got == nil || cookie == "zh" && got.Lang != languages()[1].Lang {
			t.Fatalf("%v of %q and the cookie %q", got, header, cookie)
		}
	})
}

// FuzzTyped: what a form or a link brings is text of a bounded length, and what
// is wrong with it is said, not guessed.
func FuzzTyped(f *testing.F) {
	f.Add("overrides=class:phone%3Didle:90d,sessions:1%0D%0Arole:admin%3Dabsolute:12h&classes=phone,+other&over_limit=refuse")
	f.Add("idle=14d&absolute=30d&touch=1m&schedule=%40every+1m&version=3&note=x")
	f.Add("action=login&actor=x" + strings.Repeat("%C3%A9", 60) + "&since=2026-01-01T00:00&before=7")
	f.Add("since=%00&until=2090-01-01&before=0&target=%ff&version=-1")
	f.Add("note=%ff")
	f.Add("overrides=role:a%3Dnone%0Aclass:b%3Dtouch:1m,idle:2m&over_limit=replace_oldest&sessions=%2B5&since=2026-01-01T00:00:05.9999&until=0001-01-01T00:00")
	f.Add("actor=a%26target%3Db%25+%2B%23&target=c%3D")
	f.Add("actor=" + strings.Repeat("x", 1025) + "&since=0001-01-01")
	f.Add("note=" + strings.Repeat("%C3%A9", 1200) + "&actor=" + strings.Repeat("%C3%A9", 100))
	f.Fuzz(func(t *testing.T, query string) {
		form, ok := readFields(query)
		if !ok {
			return
		}
		in := readDial(form)
		p, unread := in.policy(languages()[0], &policy.Policy{})
		again := devicesOf(&p)
		if wrong := again.into(&policy.Policy{}, languages()[0], &p); len(unread) == 0 && len(wrong) > 0 {
			t.Fatalf("%+v is shown as %+v, which is not read: %v", p.Overrides, again, wrong)
		}
		if !utf8.ValidString(in.Note) {
			t.Fatalf("a note %q", in.Note)
		}
		chosen := readAudit(form)
		filter, problems := chosen.filter(languages()[0])
		for _, s := range []string{chosen.Action, chosen.Actor, chosen.Target, chosen.Since, chosen.Until, chosen.Before} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q of %q", s, query)
			}
		}
		if len(problems) == 0 && max(len(filter.ActorName), len(filter.TargetName)) > 1024 {
			t.Fatalf("the record is searched for %+v", filter)
		}
		if (chosen.Since != "") != !filter.Since.IsZero() && len(problems) == 0 {
			t.Fatalf("%q is left out of %+v", chosen.Since, filter)
		}
		back, err := url.Parse(chosen.link("/console/audit", chosen.Before))
		if err != nil || readAudit(back.Query()) != chosen {
			t.Fatalf("%+v leads to %v, %v", chosen, back, err)
		}
	})
}
