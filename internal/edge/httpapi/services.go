package httpapi

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Recognition answers for the tokens that other services are shown.
type Recognition interface {
	// Examine is Verify, and says what the answer relies on.
	Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, session.Witness, error)
	// Used notes a use, and reports whether that login lives and has that hash.
	Used(ctx context.Context, u session.Use) (bool, error)
	// Current is the policy in force.
	Current() *policy.Policy
	// Horizon is the instant up to which every end, the global floor and the
	// policy are known here; zero if there is none yet.
	Horizon() time.Time
	// Clock is the clock of the database, by which sessions end.
	Clock() time.Time
}

// News is what this instance hears about logins.
type News interface {
	// Follow tells that account of it until ctx ends, tell returns an error, another
	// account needs the place, or the instance stops; beginning after the mark of an
	// earlier bulletin if that is possible.
	Follow(ctx context.Context, account idworker.ID, after string, tell func(session.Bulletin) error) error
}

// serviceRoutes are for services that check tokens by themselves.
func (s *server) serviceRoutes(v1 gin.IRouter) {
	g := v1.Group("", s.admit, s.only(account.RoleService, account.RoleAdmin))
	g.POST("/verifications", s.do(s.verifications))
	g.GET("/revocations", s.do(s.revocations))
}
