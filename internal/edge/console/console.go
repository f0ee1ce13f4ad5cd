package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Options are what the pages need from the rest of the program. All fields
// are required, unless their comment says otherwise.
type Options struct {
	// HasAdmin reports whether an account with the role admin exists. It is
	// asked at every use of a valid link, so an admin made elsewhere in the
	// meantime ends the link.
	HasAdmin func(ctx context.Context) (bool, error)
	// Own is what people do with their own accounts, and Sessions recognises their
	// logins.
	Own          *login.Service
	FactorStates FactorStates
	Sessions     flakepass.Verifier

	Policies   Policies
	Figures    Figures
	Schedule   Schedule
	Record     Record
	Status     Status
	Activities Activities
	Instances  Instances

	// Sightings hear of refusals, for the record; nil records none.
	Sightings Sightings
	// People and Living are the verbs about users and logins. Without them there
	// are no pages about either.
	People People
	Living LivingLogins
	// Resets are the verbs about one-time links to set a password. Without them
	// there are no pages about that.
	Resets Resets
	// Open are the verbs about the one-time links that somebody has given out. Without
	// them no page tells of these.
	Open OpenLinks
	// PublicURL is where people reach these pages: a scheme and a host. Empty if
	// nobody has said so.
	PublicURL string
	// Factors are the verbs about the second factors of others. Without them there is
	// no form for that.
	Factors Factors
	// LimitsOff says that this instance limits nothing, whatever the policy says.
	LimitsOff bool
	// AdminsNeedFactor leads an admin without a second factor to where one is
	// added, and nowhere else.
	AdminsNeedFactor bool
	// TrustedProxies are those whose word on the address of a client is believed,
	// for the limits, the log, and the record of what was done. None is fine.
	TrustedProxies []netip.Prefix

	Now func() time.Time
	Log *slog.Logger
}

// A UI is the pages, and the one link that is in force. Its methods may be
// called at the same time.
type UI struct {
	Options
	pages  *template.Template
	origin *http.CrossOriginProtection

	link link
	turn chan struct{} // held by the one POST that may create

	figures figures
	samples memo[policy.Sample]
	live    memo[policy.Estimate]
}

// New returns a UI that has given out no link. [UI.Run] counts what the overview
// shows.
func New(o Options) *UI {
	return &UI{
		Options: o,
		pages:   parsePages(),
		origin:  http.NewCrossOriginProtection(),
		turn:    make(chan struct{}, 1),
		figures: newFigures(),
	}
}

// Handler serves every path below /console/. What it does not know is a
// page with status 404. It expects the path as the client sent it, with the
// prefix.
//
// The code of a link is in the query of GET /console/setup: whoever logs
// requests around it logs the path alone.
func (u *UI) Handler() http.Handler {
	mux := http.NewServeMux()
	u.routes(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		v := u.visit(w, r)
		v.message(http.StatusNotFound, v.t.message("not_found"))
	})
	return harden(named(u.exactly(mux)))
}

// A router takes the pages by their paths. *http.ServeMux is one.
type router interface {
	HandleFunc(path string, page func(http.ResponseWriter, *http.Request))
}

// routes gives every page to mux.
func (u *UI) routes(mux router) {
	u.at(mux, setupPath, u.showSetup, u.postSetup)
	u.at(mux, loginPath, u.showLogin, u.form(u.postLogin))
	u.at(mux, codePath, nil, u.form(u.postCode))
	u.at(mux, logoutPath, nil, u.form(u.logout))
	u.at(mux, "/console/language", nil, u.form(u.chooseLanguage))

	u.at(mux, homePath+"{$}", u.inside(u.overview), nil)
	u.at(mux, expiryPath, u.inside(u.showExpiry), u.act(u.postExpiry))
	u.at(mux, expiryPath+"/revert", nil, u.act(u.revertExpiry))
	u.at(mux, limitsPath, u.inside(u.showLimits), u.act(u.postLimits))
	u.at(mux, auditPath, u.inside(u.showAudit), nil)
	u.at(mux, auditPath+".csv", u.inside(u.exportCSV), nil)
	u.at(mux, auditPath+".ndjson", u.inside(u.exportNDJSON), nil)
	u.at(mux, accountPath, u.inside(u.showAccount), u.act(u.postAccount))
	if u.People != nil && u.Living != nil {
		if u.Factors != nil {
			u.at(mux, usersPath+"/{id}/second-factor", nil, u.act(u.removeFactor))
		}
		if u.Open != nil {
			u.at(mux, usersPath+"/{id}/resets/withdraw", nil, u.act(u.withdrawIssued))
		}
		u.at(mux, usersPath, u.inside(u.showUsers), u.act(u.createUser))
		u.at(mux, usersPath+"/{id}", u.inside(u.showUser), u.act(u.changeUser))
		u.at(mux, loginsPath, u.inside(u.showLogins), nil)
		u.at(mux, loginsPath+"/end", nil, u.act(u.endLogin))
		u.at(mux, loginsPath+"/end-all", nil, u.act(u.endAll))
	}

	if u.Resets != nil {
		u.at(mux, passwordPath, u.showPassword, u.postPassword)
		u.at(mux, usersPath+"/{id}/reset", nil, u.act(u.giveReset))
		u.at(mux, usersPath+"/{id}/reset/withdraw", nil, u.act(u.withdrawReset))
	}

	u.at(mux, "/console/assets/{file}", func(v *visit) { u.asset(v.w, v.r) }, nil)
}

// exactly serves paths as they are spelt. The router would redirect //, . and ..
// to what they come to, which may be a path of the API: a redirect takes the
// token of a request along, and its body.
func (u *UI) exactly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean(r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "/") && clean != "/" {
			clean += "/"
		}
		if clean != r.URL.Path {
			v := u.visit(w, r)
			v.message(http.StatusNotFound, v.t.message("not_found"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// at serves one path, with nil for a method that it does not have.
func (u *UI) at(mux router, path string, get, post func(*visit)) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		v := u.visit(w, r)
		allow := ""
		if get != nil {
			allow = "GET, HEAD"
		}
		if post != nil {
			allow = join(allow, "POST")
		}
		switch {
		case get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			get(v)
		case post != nil && r.Method == http.MethodPost:
			post(v)
		default:
			w.Header().Set("Allow", allow)
			v.message(http.StatusMethodNotAllowed, v.t.message("method"))
		}
	})
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}
