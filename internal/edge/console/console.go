package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/verb"
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
	FactorStates verb.FactorStates
	Sessions     flakepass.Verifier

	Policies   verb.Policies
	Figures    Figures
	Record     verb.Events
	Status     Status
	Activities Activities
	Instances  verb.Instances

	// Incidents takes refusals, for the record; nil records none.
	Incidents audit.Incidents
	// People are what operators do about users, their logins, factors, links and keys.
	People verb.People

	// Impersonation says that admins may act for users.
	Impersonation bool
	// PublicURL is where people reach these pages: a scheme and a host. Empty if
	// that is not configured.
	PublicURL string
	// LimitsOff says that this instance limits nothing, whatever the policy says.
	LimitsOff bool
	// AdminsNeedFactor leads an admin without a second factor to where one is
	// added, and nowhere else.
	AdminsNeedFactor bool
	// TrustedProxies are those whose headers say the address of a client,
	// for the limits, the log, and the record of what was done. None is fine.
	TrustedProxies []netip.Prefix

	Now func() time.Time
	Log *slog.Logger
}

// A UI is the pages, and the one link that is in force. Its methods may be
// called at the same time.
type UI struct {
	Options
	pages  func() *template.Template // parsed for the first page: few instances ever show one
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
		pages:   sync.OnceValue(parsePages),
		origin:  http.NewCrossOriginProtection(),
		turn:    make(chan struct{}, 1),
		figures: newFigures(),
	}
}

// Handler serves every path below /console/. What it does not know is a
// page with status 404. It expects the path as the client sent it, with the
// prefix.
//
// The code of a link is in the query of GET /console/setup: a log of requests
// around it has the path alone.
func (u *UI) Handler() http.Handler {
	mux := http.NewServeMux()
	u.routes(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		q := u.request(w, r)
		q.message(http.StatusNotFound, q.t.message("not_found"))
	})
	return harden(named(u.exactly(mux)))
}

// A router takes the pages by their paths. *http.ServeMux is one.
type router interface {
	HandleFunc(path string, page func(http.ResponseWriter, *http.Request))
}

// routes gives every page to mux.
func (u *UI) routes(mux router) {
	u.at(mux, setupPath, u.showSetup, u.linkForm(u.postSetup))
	u.at(mux, loginPath, u.showLogin, u.form(u.postLogin))
	u.at(mux, codePath, nil, u.form(u.postCode))
	u.at(mux, roomPath, nil, u.form(u.postRoom))
	u.at(mux, logoutPath, nil, u.form(u.logout))
	u.at(mux, "/console/language", nil, u.form(u.chooseLanguage))

	u.at(mux, homePath+"{$}", u.adminPage(u.overview), nil)
	u.at(mux, expiryPath, u.adminPage(u.showExpiry), u.adminForm(u.postExpiry))
	u.at(mux, expiryPath+"/revert", nil, u.adminForm(u.revertExpiry))
	u.at(mux, limitsPath, u.adminPage(u.showLimits), u.adminForm(u.postLimits))
	u.at(mux, auditPath, u.adminPage(u.showAudit), nil)
	u.at(mux, auditPath+".csv", u.adminPage(u.exportCSV), nil)
	u.at(mux, auditPath+".ndjson", u.adminPage(u.exportNDJSON), nil)
	u.at(mux, accountPath, u.adminPage(u.showAccount), u.adminForm(u.postAccount))
	u.at(mux, usersPath, u.adminPage(u.showUsers), u.adminForm(u.createUser))
	u.at(mux, usersPath+"/{id}", u.adminPage(u.showUser), u.onUser(u.changeUser))
	u.at(mux, usersPath+"/{id}/logout", nil, u.onUser(u.logoutUser))
	u.at(mux, usersPath+"/{id}/second-factor", nil, u.onUser(u.removeFactor))
	u.at(mux, usersPath+"/{id}/delete", nil, u.onUser(u.deleteUser))
	u.at(mux, usersPath+"/{id}/reset", nil, u.onUser(u.giveReset))
	u.at(mux, usersPath+"/{id}/reset/withdraw", nil, u.onUser(u.withdrawReset))
	u.at(mux, usersPath+"/{id}/resets/withdraw", nil, u.onUser(u.withdrawIssued))
	u.at(mux, usersPath+"/{id}/impersonate", nil, u.onUser(u.impersonate))
	u.at(mux, usersPath+"/{id}/keys", nil, u.onUser(u.createKey))
	u.at(mux, keysPath+"/revoke", nil, u.adminForm(u.revokeKey))
	u.at(mux, loginsPath, u.adminPage(u.showLogins), nil)
	u.at(mux, loginsPath+"/end", nil, u.adminForm(u.endLogin))
	u.at(mux, loginsPath+"/end-all", nil, u.adminForm(u.endAll))
	u.at(mux, passwordPath, u.showPassword, u.linkForm(u.postPassword))

	u.at(mux, "/console/assets/{file}", func(q *request) { u.asset(q.w, q.r) }, nil)
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
			q := u.request(w, r)
			q.message(http.StatusNotFound, q.t.message("not_found"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// at serves one path, with nil for a method that it does not have.
func (u *UI) at(mux router, path string, get, post func(*request)) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		q := u.request(w, r)
		var allow []string
		if get != nil {
			allow = append(allow, "GET", "HEAD")
		}
		if post != nil {
			allow = append(allow, "POST")
		}
		switch {
		case get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			get(q)
		case post != nil && r.Method == http.MethodPost:
			post(q)
		default:
			w.Header().Set("Allow", strings.Join(allow, ", "))
			q.message(http.StatusMethodNotAllowed, q.t.message("method"))
		}
	})
}
