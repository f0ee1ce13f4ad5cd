package fileworker

import "testing"

// FuzzParseRecord is internal: what it reads has no exported form.
func FuzzParseRecord(f *testing.F) {
	f.Add(appendRecord(nil, 0))
	f.Add(appendRecord(nil, maxFence))
	f.Add([]byte("fence 0001763718183123 5f3a9c01\n"))
	f.Add([]byte("fence +001763718183123 5f3a9c01\n"))
	f.Add(make([]byte, recordLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		fence, ok := parseRecord(b)
		if !ok {
			return
		}
		if got := appendRecord(nil, fence); string(got) != string(b) {
			t.Errorf("%q reads as %d, which is written %q", b, fence, got)
		}
	})
}
