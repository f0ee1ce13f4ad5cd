package consoletest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A browser is a tab of a real Chromium, looking at one instance.
type browser struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // chromedp keeps the tab in it
	at  string          // http://host:port
}

// newBrowser opens a tab of its own. What its console or its
// Content-Security-Policy complains about fails the test.
func newBrowser(t testing.TB, i *e2e.Instance) *browser {
	t.Helper()
	return newTab(t, onlyChromium.open(t), "http://"+i.Public, chromedp.WithNewBrowserContext())
}

// other is a tab that shares nothing with this one: another person's.
func (b *browser) other() *browser {
	b.t.Helper()
	return newTab(b.t, onlyChromium.open(b.t), b.at, chromedp.WithNewBrowserContext())
}

func newTab(t testing.TB, parent context.Context, at string, options ...chromedp.ContextOption) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, at: at}
	b.do()
	// All tabs are in one program, which gives the focus to the window that opened last. A page
	// without it hears of no element that gets the focus, and does not show which one has it.
	_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	err = chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *log.EventEntryAdded:
			// A status of 4xx or 5xx is an answer that tests ask for.
			if e := ev.Entry; e.Level == "error" && e.Source != "network" {
				t.Errorf("the browser says: %s %s", e.Source, e.Text)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("a script failed: %s", (&chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails}).Error())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do runs actions, one after the other.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, e2e.Patience)
	defer cancel()
	if len(actions) == 0 {
		ctx = b.ctx // the first run opens the tab, for as long as its context lives
	}
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page:\n%s", err, b.text())
	}
}

// open shows a page.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.at + path))
}

// press clicks something that leads to another page, and waits for that.
func (b *browser) press(what string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, e2e.Patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(what))); err != nil {
		b.t.Fatalf("press %s: %v; the page:\n%s", what, err, b.text())
	}
}

// fill types a text into a field in the place of what is there, as a person
// does. chromedp's Clear and SendKeys are no pair: the one changes an attribute,
// and what the browser reports of that is a race with the other, which reads them.
func (b *browser) fill(field, text string) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS(field)))
	evaluate[bool](b, "(document.activeElement.select(), true)")
	b.do(chromedp.KeyEvent(cmp.Or(text, kb.Backspace)))
}

// preview is fill, and waits until the page says what the change would do, and not only what
// the first of its characters would. That moves what is below it, and a click goes to a
// place: one made before would miss.
func (b *browser) preview(field, text string) {
	b.t.Helper()
	const effect = `document.querySelector("#effect").textContent`
	before := evaluate[string](b, effect)
	b.fill(field, text)
	testenv.Eventually(b.t, e2e.Patience, func() bool {
		return evaluate[string](b, effect) != before && !evaluate[bool](b, `document.getElementById("dial").ariaBusy === "true"`)
	}, "the page says what the change would do")
}

// text is what a person reads on the page.
func (b *browser) text() string {
	text, err := read(b, chromedp.Text(chromedp.CSS("body")))
	if err != nil {
		return err.Error()
	}
	return text
}

// sees waits until the page has these texts.
func (b *browser) sees(want ...string) {
	b.t.Helper()
	for _, s := range want {
		testenv.Eventually(b.t, e2e.Patience, func() bool { return strings.Contains(b.text(), s) }, "the page says: "+s)
	}
}

// has reports whether the page has this text now.
func (b *browser) has(text string) bool { return strings.Contains(b.text(), text) }

// pressUntil clicks a link that a page offers until the page that it leads to
// has a text.
func (b *browser) pressUntil(what, want string) {
	b.t.Helper()
	testenv.Eventually(b.t, e2e.Patience, func() bool {
		b.press(what)
		return b.has(want)
	}, "the page says: "+want)
}

func (b *browser) path() string {
	b.t.Helper()
	at, err := read(b, chromedp.Location())
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimPrefix(at, b.at)
}

// value is what is typed into a field.
func (b *browser) value(field string) string {
	b.t.Helper()
	v, err := read(b, chromedp.Value(chromedp.CSS(field)))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// read asks the page. One that makes way for the next while it is asked gives no answer:
// then the next one is asked.
func read[T any](b *browser, question chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, e2e.Patience)
	defer cancel()
	for {
		answer, err := chromedp.Run(ctx, question)
		var refusal *cdproto.Error
		if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Message, "Inspected target navigated") &&
			!strings.HasPrefix(refusal.Message, "Execution context was destroyed") {
			return answer, err
		}
	}
}

// evaluate is the value of an expression in the page, awaited.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := read(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// login logs in on the page for it, which has to be open.
func (b *browser) login(name string) {
	b.t.Helper()
	b.fill("#username", name)
	b.fill("#password", e2e.Passphrase)
	b.press(`main button[type="submit"]`)
}

// unprove makes it longer than ten minutes ago that the login proved password and code.
func unprove(t testing.TB, d *e2e.Deployment) {
	t.Helper()
	e2e.Execute(t, d.SQL(t), "UPDATE users SET token_proved_at = token_proved_at - 700000 WHERE token_proved_at IS NOT NULL")
}

// scheme chooses light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// scripts turns them on or off.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	if err != nil {
		b.t.Fatal(err)
	}
}

// pictures is set by who wants to look at them.
const pictures = "FLAKEPASS_TEST_PICTURES"

// shoot keeps a picture of the whole page in bin/console, for people to look at,
// if they ask for it: no test does, and they cost more than what is tested.
func (b *browser) shoot(name string) {
	b.t.Helper()
	if os.Getenv(pictures) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, e2e.Patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	folder := filepath.Join("..", "..", "..", "bin", "console")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
