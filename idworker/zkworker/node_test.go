package zkworker

import "testing"

// FuzzParseNode is internal: what it reads has no exported form.
func FuzzParseNode(f *testing.F) {
	for _, n := range []node{{}, {Fence: maxFence, Token: "T", Holder: "<host>:1", Key: "10.0.0.7:8080"}} {
		b, err := n.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{"", "{}", "null", `{"fence_ms":1e3,"token":"","holder":""}`, `{"fence_ms":-1,"token":"","holder":""}`,
		`{"fence_ms":2,"fence_ms":1,"token":"","holder":""}`, `{"FENCE_MS":1,"token":"","holder":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := parseNode(b)
		if err != nil {
			return
		}
		if n.Fence < 0 || n.Fence > maxFence {
			t.Errorf("%q has the fence %d", b, n.Fence)
		}
		if again, err := n.encode(); err != nil || string(again) != string(b) {
			t.Errorf("%q reads as %+v, which is written %q, %v", b, n, again, err)
		}
	})
}

// FuzzParseReserve is internal for the same reason.
func FuzzParseReserve(f *testing.F) {
	r := reserve{number: 7, name: nameOf("/w", "k"), token: "JBSWY3DPEHPK3PXPJBSWY3DPEH", used: 1763718183123, until: 1763721783123}
	f.Add(r.encode())
	f.Add(reserve{name: nameOf("", ""), next: r.token}.encode())
	f.Add(make([]byte, recordLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseReserve(b)
		if !ok {
			return
		}
		if r.used > r.until || r.until > maxFence || len(b) != recordLen {
			t.Errorf("%q reads as %+v", b, r)
		}
		if again := r.encode(); string(again) != string(b) {
			t.Errorf("%q reads as %+v, which is written %q", b, r, again)
		}
	})
}
