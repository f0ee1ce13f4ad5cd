package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	xlanguage "golang.org/x/text/language"

	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// languageFiles are everything that the pages say: one file for each language,
// named by its BCP 47 tag, from keys to texts. %s and %d in a text stand for what
// the page fills in.
//
//go:embed languages
var languageFiles embed.FS

// languages are those of the files, the first where no other is asked for.
var languages = sync.OnceValue(func() []*texts { return []*texts{readTexts("en"), readTexts("zh-Hans")} })

// texts is everything that the pages say, in one language.
type texts struct {
	Lang  string // BCP 47
	byKey map[string]string
}

func readTexts(lang string) *texts {
	t := &texts{Lang: lang}
	file, err := languageFiles.ReadFile("languages/" + lang + ".json")
	if err == nil {
		err = json.Unmarshal(file, &t.byKey)
	}
	if err != nil { // embedded: the tests would see it fail
		panic(err)
	}
	return t
}

// Text is the text of a key, with the arguments where it has a % for them. A key
// without a text is its own text: a test holds that there is none in the code.
func (t *texts) Text(key string, args ...any) string {
	s, ok := t.byKey[key]
	switch {
	case !ok:
		return key
	case len(args) == 0:
		return s
	}
	return fmt.Sprintf(s, args...)
}

// Name is the name of what comes from elsewhere, such as a role: the text of
// group.code, or the code itself, for a newer release may have more of them.
func (t *texts) Name(group, code string) string {
	if s, ok := t.byKey[group+"."+code]; ok {
		return s
	}
	return code
}

// message is the page with the texts message.name.title, .text and .command.
func (t *texts) message(name string) message {
	key := "message." + name
	return message{t.Text(key + ".title"), strings.Split(t.Text(key+".text"), "\n"), t.byKey[key+".command"]}
}

// refused is the page for a form that could not be read.
func (t *texts) refused(status int) message {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return t.message("too_large")
	case http.StatusUnsupportedMediaType:
		return t.message("media_type")
	case http.StatusServiceUnavailable:
		return t.message("late")
	}
	return t.message("bad_request")
}

// field is a sentence about what is wrong with a field. Where a language has
// none of its own for that code, it is the one of the domain, which goes after
// the name of the field.
func (t *texts) field(f invalid.Field) string {
	if s, ok := t.byKey["field."+f.Field+"."+f.Code]; ok {
		switch {
		case f.Bound != 0:
			return fmt.Sprintf(s, f.Bound)
		case f.Name != "":
			return fmt.Sprintf(s, f.Name)
		}
		return s
	}
	if s, ok := t.byKey["field."+f.Field]; ok {
		return s + " " + f.Message + "."
	}
	return f.Message + "."
}

// languageCookie keeps the choice of a person. It is no secret.
const languageCookie = "flakepass-language"

// language is the one that the person chose, or the first of those that the
// browser asks for, by their weights (RFC 9110 section 12.5.4).
func language(r *http.Request) *texts {
	if c, err := r.Cookie(languageCookie); err == nil {
		if t := speak(c.Value); t != nil {
			return t
		}
	}
	wishes, _, _ := xlanguage.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // of a malformed header nothing is known
	for _, tag := range wishes {
		if t := speak(tag.String()); t != nil {
			return t
		}
	}
	return languages()[0]
}

// speak finds a language by its tag, or nil. Traditional Chinese is served with
// the Simplified that there is.
func speak(tag string) *texts {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, t := range languages() {
		if p, _, _ := strings.Cut(t.Lang, "-"); p == primary {
			return t
		}
	}
	return nil
}

func (u *UI) chooseLanguage(q *request, form url.Values) {
	if t := speak(form.Get("lang")); t != nil {
		http.SetCookie(q.w, &http.Cookie{ //nolint:gosec // no secret, and to be kept over plain HTTP, too
			Name: languageCookie, Value: t.Lang, Path: "/console/", MaxAge: 365 * 24 * 3600,
			HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: q.r.TLS != nil,
		})
	}
	next := form.Get("next")
	if back, err := url.Parse(next); err == nil && back.Path == loginPath { // which safePath would not lead back to
		q.redirect(loginPath, url.Values{"next": {safePath(back.Query().Get("next"))}})
		return
	}
	q.redirect(safePath(next), nil)
}
