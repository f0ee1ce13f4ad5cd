package adminui

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/internal/account"
)

//go:embed pages
var pageFiles embed.FS

// Options are what the pages need from the rest of the program. All fields
// are required.
type Options struct {
	// HasAdmin reports whether an account with the role admin exists. It is
	// asked at every use of a valid link, so an admin made elsewhere in the
	// meantime ends the link.
	HasAdmin func(ctx context.Context) (bool, error)
	// Create makes an admin unless there is one, which no answer of HasAdmin can
	// promise: another instance has a link too. It returns
	// [account.ErrHasAdmin] then, which ends the link; an [*account.InvalidError],
	// [account.ErrExists] or [account.ErrBusy] for what the person can do
	// something about; any other error is logged and shown as "cannot tell".
	Create func(ctx context.Context, username string, p account.Password) (account.User, error)

	Now func() time.Time
	Log *slog.Logger
}

// A UI is the pages and the one link that is in force. Its methods may be
// called at the same time.
type UI struct {
	Options
	pages  *template.Template
	texts  *texts
	origin *http.CrossOriginProtection

	link link
	turn chan struct{} // held by the one POST that may create
}

// New returns a UI that has given out no link.
func New(o Options) *UI {
	return &UI{
		Options: o,
		pages:   template.Must(template.ParseFS(pageFiles, "pages/*.html")), // embedded: the tests would see it fail
		texts:   english(),
		origin:  http.NewCrossOriginProtection(),
		turn:    make(chan struct{}, 1),
	}
}

// Handler serves every path below /console/. What it does not know is a page
// with status 404. It expects the path as the client sent it, with the prefix.
//
// The code of a link is in the query of GET /console/setup: whoever logs
// requests around it logs the path alone.
func (u *UI) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+setupPath, u.showSetup)
	mux.HandleFunc("POST "+setupPath, u.postSetup)
	mux.HandleFunc(setupPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, POST")
		u.message(w, http.StatusMethodNotAllowed, u.texts.Method)
	})
	mux.HandleFunc("GET /console/assets/{file}", u.asset)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		u.message(w, http.StatusNotFound, u.texts.NotFound)
	})
	return harden(mux)
}
