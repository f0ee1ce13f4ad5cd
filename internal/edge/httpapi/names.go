package httpapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// nameRoutes are for back ends with a service key that keep the names of users. A token has no scope: the login of
// a service may do less than its keys, and admins have routes of their own.
func (s *server) nameRoutes(v1 gin.IRouter) {
	read := v1.Group("/users", s.admitKey(servicekey.ReadUsers), s.do(s.quotaOfOne))
	read.GET("", s.do(s.findUser))
	read.GET("/:id", s.do(ofID(s.oneUser)))
	v1.PATCH("/users/:id", s.admitKey(servicekey.WriteUsers), s.do(s.quotaOfOne), s.do(ofID(s.changeNames)))
}

// errApart means that one request asks for two changes that are made apart.
var errApart = invalid.Of("username", "apart", "change username and aliases in a request of their own, without role and disabled")

// namesJSON are the fields of a change of names.
type namesJSON struct {
	Username given[text]   `json:"username"`
	Aliases  given[[]text] `json:"aliases"`
	Add      []text        `json:"add_aliases"`
	Remove   []text        `json:"remove_aliases"`
	Reason   text          `json:"reason"`
}

// any reports whether a name is to change.
func (in *namesJSON) any() bool {
	return in.Username.value != nil || in.Aliases.value != nil || len(in.Add)+len(in.Remove) > 0
}

func (in *namesJSON) change() operator.NameChange {
	n := operator.NameChange{Username: (*string)(in.Username.value), AddAliases: stringsOf(in.Add), RemoveAliases: stringsOf(in.Remove), Reason: string(in.Reason)}
	if in.Aliases.value != nil {
		n.Aliases = new(stringsOf(*in.Aliases.value))
	}
	return n
}

func (s *server) changeNames(c *gin.Context, id idworker.ID) error {
	var in namesJSON
	if err := bind(c, &in); err != nil {
		return err
	}
	u, err := s.People.Names.ChangeNames(c.Request.Context(), s.operator(c), id, in.change())
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusOK, render.User(&u))
}

func (s *server) oneUser(c *gin.Context, id idworker.ID) error {
	return s.found(c, operator.NameQuery{ID: id})
}

// findUser answers for exactly one name: a list of users is for admins.
func (s *server) findUser(c *gin.Context) error {
	values, err := readQuery(c)
	if err != nil {
		return err
	}
	var q operator.NameQuery
	known := map[string]*string{"username": &q.Username, "alias": &q.Alias, "external_id": &q.ExternalID}
	for name, list := range values {
		to := known[name]
		if to == nil || len(values) != 1 || len(list) != 1 || list[0] == "" {
			break
		}
		// A plus sign that was not escaped is a space here, and what was escaped twice has a percent
		// sign. It is not guessed.
		if *to = list[0]; account.CheckExternalID(q.ExternalID) != nil {
			return invalid.Of("query", "malformed", "an external ID has at most 190 characters, which all show, and no space at its ends; write a plus sign as %2B")
		}
		if name != "external_id" && strings.ContainsAny(*to, " %") {
			return invalid.Of("query", "malformed", "a name has no space and no percent sign; write a plus sign as %2B, and escape once")
		}
		return s.found(c, q)
	}
	return invalid.Of("query", "malformed", "must have exactly one of username, alias and external_id, once")
}

func (s *server) found(c *gin.Context, q operator.NameQuery) error {
	u, err := s.People.Names.Find(c.Request.Context(), q)
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusOK, render.User(&u))
}
