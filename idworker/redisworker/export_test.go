package redisworker

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// settleScript begins a record whose calm is over.
var settleScript = redis.NewScript(recordLua + `
local me, refusal = identity()
if not me then return refusal end
begin(me, now - reach - 2 * skew)
return {'lost'}
`)

// Settle begins the record of a namespace of which the test knows that nothing
// was lent before, so that it need not wait for the calm.
func Settle(ctx context.Context, l *Lender) error {
	o, err := l.limits()
	if err == nil {
		_, err = l.run(ctx, settleScript, o)
	}
	return err
}

// Key is where the record lies.
func (l *Lender) Key() string { return l.key() }

// Parse reads a script's answer and says what it would lend: number, from, until.
func Parse(words []string) (lends bool, number, from, until int64, err error) {
	a, err := parse(words)
	return a.verdict == ok, a.n[0], a.n[1], a.n[2], err
}
