package flakepass_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/flakepass/flakepass/api/flakepass"
)

const goldenID = "1234567890123456789"

// leaks reports whether output has four neighbouring characters of the golden
// token's secret or checksum, in any of the ways in which fmt and the encoders
// spell bytes.
func leaks(output string) bool {
	return slices.ContainsFunc(spellings(), func(s string) bool { return strings.Contains(output, s) })
}

var spellings = sync.OnceValue(func() (all []string) {
	secret := goldenText[len("fp_1TCKi1nFuNh"):]
	for at := range len(secret) - 3 {
		piece := []byte(secret[at : at+4])
		for _, verb := range []string{"%s", "%x", "%X", "% x", "% X", "%#v", "%d", "%U", "%b", "%o"} {
			all = append(all, strings.Trim(fmt.Sprintf(verb, piece), "[]byte{}"))
		}
	}
	for shift := range 3 { // base64 has three alignments
		all = append(all, base64.RawStdEncoding.EncodeToString([]byte(secret[shift:shift+12])))
	}
	return all
})

type (
	hidden struct {
		name string
		t    flakepass.Token
	}
	hiddenPointer struct{ t *flakepass.Token }
	deep          struct {
		a any
		m map[string]flakepass.Token
		s []hidden
		p *hidden
	}
	shown struct{ T flakepass.Token }
)

// holders are values in which a program may carry a token.
func holders(token flakepass.Token) map[string]any {
	in := hidden{"x", token}
	return map[string]any{
		"token":             token,
		"pointer":           &token,
		"slice":             []flakepass.Token{token, token},
		"array":             [2]flakepass.Token{token},
		"map":               map[string]flakepass.Token{"k": token},
		"any":               []any{token, &token},
		"field":             shown{token},
		"field of pointer":  &shown{token},
		"unexported":        in,
		"unexported ptr":    &in,
		"unexported *Token": hiddenPointer{&token},
		"deep":              deep{token, map[string]flakepass.Token{"k": token}, []hidden{in}, &in},
		"deep pointer":      &deep{&token, map[string]flakepass.Token{"k": token}, []hidden{in}, &in},
		"inside an error":   fmt.Errorf("no good: %v: %w", token, errors.New("cause")),
	}
}

func TestLeaksKnowsALeak(t *testing.T) {
	type plain struct{ text string }
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X"} {
		if !leaks(fmt.Sprintf(verb, plain{goldenText})) {
			t.Errorf("leaks does not see a string under %s", verb)
		}
	}
	for _, verb := range []string{"%v", "%#v", "%s", "%q", "%x", "% x", "%d", "%U", "%b", "%o"} {
		if !leaks(fmt.Sprintf(verb, []byte(goldenText))) {
			t.Errorf("leaks does not see bytes under %s", verb)
		}
	}
	asJSON, err := json.Marshal([]byte(goldenText))
	if err != nil || !leaks(string(asJSON)) {
		t.Errorf("leaks does not see base64 (%v)", err)
	}
	if leaks("fp_1TCKi1nFuNh token(" + goldenID + ")") {
		t.Error("leaks takes the ID for the secret")
	}
}

func TestNoVerbPrintsTheSecret(t *testing.T) {
	for name, value := range holders(mustParse(t, goldenText)) {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", "-", " ", "0", "+#", "# ", "60", ".46", "-60.3"} {
				format := "%" + flags + string(verb)
				if got := fmt.Sprintf(format, value) + fmt.Errorf(format, value).Error(); leaks(got) {
					t.Errorf("%s under %s: the secret is in %s", name, format, got)
				}
			}
		}
		if got := fmt.Sprint(value) + fmt.Sprintln(value); leaks(got) {
			t.Errorf("%s: the secret is in %s", name, got)
		}
	}
}

func TestTokenPrintsItsID(t *testing.T) {
	token := mustParse(t, goldenText)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		for name, value := range map[string]any{"token": token, "pointer": &token} {
			if got := fmt.Sprintf(format, value); got != "token("+goldenID+")" {
				t.Errorf("%s under %s: got %s", name, format, got)
			}
		}
	}
	var none *flakepass.Token
	if got := fmt.Sprintf("%v %v", flakepass.Token{}, none); got != "token(none) <nil>" {
		t.Errorf("zero and nil: got %s", got)
	}
}

func TestNoLogPrintsTheSecret(t *testing.T) {
	token := mustParse(t, goldenText)
	var out bytes.Buffer
	loggers := map[string]*slog.Logger{
		"text": slog.New(slog.NewTextHandler(&out, nil)),
		"json": slog.New(slog.NewJSONHandler(&out, nil)),
	}
	for kind, logger := range loggers {
		for name, value := range holders(token) {
			out.Reset()
			logger.With("with", value).WithGroup("g").Info("seen", "token", value, slog.Group("h", slog.Any("again", value)))
			if leaks(out.String()) {
				t.Errorf("%s in slog %s: the secret is in %s", name, kind, out.String())
			}
		}
		out.Reset()
		logger.Info("seen", "token", token)
		if !strings.Contains(out.String(), "token("+goldenID+")") {
			t.Errorf("slog %s does not name the ID: %s", kind, out.String())
		}
	}
	out.Reset()
	log.New(&out, "", 0).Print(token, &token, hidden{"x", token})
	if leaks(out.String()) {
		t.Errorf("log: the secret is in %s", out.String())
	}
}

// Encoders may refuse a token; they may not write it.
func TestNoEncoderWritesTheSecret(t *testing.T) {
	token := mustParse(t, goldenText)
	encoders := map[string]func(*bytes.Buffer, any) error{
		"json": func(b *bytes.Buffer, v any) error { return json.NewEncoder(b).Encode(v) },
		"xml":  func(b *bytes.Buffer, v any) error { return xml.NewEncoder(b).Encode(v) },
		"gob":  func(b *bytes.Buffer, v any) error { return gob.NewEncoder(b).Encode(v) },
		"template": func(b *bytes.Buffer, v any) error {
			return template.Must(template.New("").Parse(`{{.}} {{printf "%s %x %#v" . . .}} {{js .}} {{urlquery .}}`)).Execute(b, v)
		},
	}
	for kind, encode := range encoders {
		for name, value := range holders(token) {
			var out bytes.Buffer
			err := encode(&out, value)
			if leaks(out.String()) || (err != nil && leaks(err.Error())) {
				t.Errorf("%s in %s: the secret is in %q (error %v)", name, kind, out.String(), err)
			}
		}
	}
	got, err := json.Marshal(shown{token})
	if want := `{"T":"token(` + goldenID + `)"}`; err != nil || string(got) != want {
		t.Errorf("json: got %s, %v, want %s", got, err, want)
	}
}

// TestDecodersReadTheTextOnly: what an encoder wrote of a credential is none, and no error repeats a text.
func TestDecodersReadTheTextOnly(t *testing.T) {
	var into struct {
		T flakepass.Token
		K flakepass.ServiceKey
	}
	read := func(text string) error { return json.Unmarshal([]byte(text), &into) }
	if err := read(`{"T":"` + goldenText + `","K":"` + goldenKey + `"}`); err != nil || into.T.Reveal() != goldenText || into.K.Reveal() != goldenKey {
		t.Fatalf("read %v, %v", into, err)
	}
	hidden, err := json.Marshal(into)
	if err != nil || leaks(string(hidden)) {
		t.Errorf("the secret is in %s, %v", hidden, err)
	}
	for text, want := range map[string]error{
		string(hidden): flakepass.ErrMalformed, `{"T":"` + goldenKey + `"}`: flakepass.ErrKeyNotAccepted, `{"T":"` + goldenText[:45] + `"}`: flakepass.ErrMalformed,
		`{"K":"` + goldenText + `"}`: flakepass.ErrKeyMalformed, `{"K":"` + goldenKey[:46] + `"}`: flakepass.ErrKeyMalformed, `{"T":""}`: flakepass.ErrMalformed,
	} {
		if err := read(text); !errors.Is(err, want) || leaks(err.Error()) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if into.T.Reveal() != goldenText || into.K.Reveal() != goldenKey {
		t.Errorf("what was refused has changed %v", into)
	}
	b := []byte(goldenText)
	err = into.T.UnmarshalText(b)
	clear(b) // a decoder uses its buffer again
	if err != nil || into.T.Reveal() != goldenText {
		t.Errorf("read %v, %v", into.T, err)
	}
}
