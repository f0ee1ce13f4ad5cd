package cli

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEpochs(t *testing.T) {
	t.Parallel()
	want := time.Date(2020, time.January, 1, 0, 0, 0, 657e6, time.UTC)
	for _, text := range []string{"2020-01-01T00:00:00.657Z", "2020-01-01T08:00:00.657+08:00", "1577836800657"} {
		var e epoch
		if err := e.UnmarshalText([]byte(text)); err != nil || !e.Equal(want) {
			t.Errorf("%s: %v, %v", text, e, err)
		}
	}
	for _, text := range []string{"", "2020-01-01", "2020-13-01T00:00:00Z", "1577836800.5", "0x10", "9223372036854775808", "now",
		"253402300800000", "-62167219200001", "-9223372036854775808", "2020-01-01T00:00:00+24:00", "2020-01-01T00:00:00,5Z", "9999-12-31T23:59:59-00:01"} {
		e := epoch{want}
		if err := e.UnmarshalText([]byte(text)); err == nil || !e.Equal(want) {
			t.Errorf("%q was taken for %v", text, e)
		}
	}
}

// TestDecodedTimesCanBeWritten, as a table and as JSON: a command line whose answer has a year of
// five digits cannot be used.
func TestDecodedTimesCanBeWritten(t *testing.T) {
	for args, want := range map[string]string{
		"9223372036854775807 --epoch=253402300799999": "with this epoch the ID is of the year 10069",
		"9223372036854775807 --epoch=253402300800000": "in the years 0 to 9999", "7 --epoch=-62167219200001": "in the years 0 to 9999", "7 --epoch=-9223372036854775808": "in the years 0 to 9999",
		"7 --epoch=253402300799999": "", "7 --epoch=-62167219200000": "", "7 --epoch=0001-01-01T00:00:00Z": "", "9223372036854775807": "",
	} {
		for _, form := range [][]string{nil, {"--json"}} {
			var out, errs strings.Builder
			code := Run(t.Context(), slices.Concat([]string{"id", "decode"}, strings.Fields(args), form), nil, &out, &errs)
			if (code == 2) != (want != "") || (code == 0) != (want == "") || !strings.Contains(errs.String(), want) || (code == 0) != (out.Len() > 0) {
				t.Errorf("%s %v: exit code %d\n%s%s", args, form, code, &out, &errs)
			}
		}
	}
}

// FuzzEpoch: whatever is accepted is in UTC and can be written and read again.
func FuzzEpoch(f *testing.F) {
	for _, text := range []string{"2020-01-01T00:00:00Z", "1577836800657", "-1", "253402300800000", "-62167219200000", "0000-01-01T00:00:00.5+23:59", "9999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var e, again epoch
		if e.UnmarshalText([]byte(text)) != nil {
			return
		}
		if e.Location() != time.UTC {
			t.Errorf("%q: %v is not in UTC", text, e)
		}
		if err := again.UnmarshalText([]byte(e.Format(time.RFC3339Nano))); err != nil || !again.Equal(e.Time) {
			t.Errorf("%q is %v, which reads as %v, %v", text, e, again, err)
		}
	})
}
