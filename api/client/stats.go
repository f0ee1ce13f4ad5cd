package client

import "context"

// Stats are how many users there are, and how many logins live. Large numbers are
// estimates.
type Stats struct {
	Users Estimate `json:"users"`
	Roles struct {
		User    Estimate `json:"user"`
		Service Estimate `json:"service"`
		Admin   Estimate `json:"admin"`
	} `json:"roles"`
	Disabled   Estimate `json:"disabled"`
	LiveLogins Estimate `json:"live_logins"`
}

func (s Stats) complete() bool {
	for _, e := range []Estimate{s.Users, s.Roles.User, s.Roles.Service, s.Roles.Admin, s.Disabled, s.LiveLogins} {
		if !e.sane() {
			return false
		}
	}
	return s.Users.Count > 0 // whoever asks is one
}

// Stats counts users and living logins.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, read("/v1/admin/stats", nil))
}
