package consoletest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A chromium is one program that all tests of the console share. Each has tabs
// of its own, in a profile that no other sees and that ends with the test.
type chromium struct {
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // chromedp keeps the program in it
	stop func()
}

// onlyChromium is the program; TestMain ends it.
var onlyChromium chromium

// open is the program, which the first test that needs it starts.
func (c *chromium) open(t testing.TB) context.Context {
	t.Helper()
	program := testenv.Program(t, "chromium")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil {
		return c.ctx
	}
	profile, err := os.MkdirTemp("", "flakepass-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// Not chromedp.DisableGPU, which has SwiftShader emulate one: pages look the same without,
	// and a sixth of the CPU of these tests is saved.
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.Flag("disable-gpu", true), chromedp.Headless, chromedp.NoFirstRun,
		chromedp.Env("HOME=" + profile), // which it writes to beside the profile
		chromedp.Flag("lang", "en-US"), chromedp.Flag("force-color-profile", "srgb"),
		// A page lives for less than a second, so its scripts are not worth an optimizing compiler, nor
		// garbage collectors beside them: a quarter of the CPU is saved.
		chromedp.Flag("js-flags", "--no-opt --no-maglev --single-threaded-gc"),
	}
	for _, name := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"} {
		flags = append(flags, chromedp.Flag(name, true))
	}
	all, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, cancel := chromedp.NewContext(all)
	end := func() {
		cancel()
		stop()
		for range 50 { // its processes may write for a moment after it has ended
			if os.RemoveAll(profile) == nil {
				return
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatal(err)
	}
	c.ctx, c.stop = ctx, end
	return ctx
}

// close ends the program, if it runs.
func (c *chromium) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
}
