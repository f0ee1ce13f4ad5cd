package console

import "github.com/flakepass/flakepass/internal/domain/fleet"

// trouble is what an instance says is wrong, in words. What one of another release
// says may be no code of ours, and stays as it is.
func (t *texts) trouble(what fleet.Trouble) string {
	code, detail := what.Cut()
	if detail != "" {
		detail = t.Text("mark.colon") + detail
	}
	return t.Name("trouble", code) + detail
}

func (t *texts) troubles(list []fleet.Trouble) (all []string) {
	for _, what := range list {
		all = append(all, t.trouble(what))
	}
	return all
}

// redis is how the Redis of this instance is doing, and where it is.
func (t *texts) redis(s *State) string {
	switch s.Redis {
	case fleet.RedisNone, "":
		return t.Text("overview.no_redis")
	case fleet.RedisGood:
		return s.RedisPlace
	}
	return t.trouble(s.Redis) + " (" + s.RedisPlace + ")"
}
