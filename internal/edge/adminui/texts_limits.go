package adminui

import (
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// limitTexts are the words for how much strangers may try.
type limitTexts struct {
	Place, Account, Address, Register, Introspect string
	RuleF, And                                    string // so many in so much time, and what is between two rules
}

var limitsEnglish = limitTexts{
	Place: "Attempts for one account from one place", Account: "Attempts for one account from new places",
	Address: "Attempts from one address", Register: "New accounts from one address", Introspect: "Questions of one service",
	RuleF: "%s in %s", And: ", ",
}

var limitsChinese = limitTexts{
	Place: "同一地点对同一账户的尝试", Account: "陌生地点对同一账户的尝试",
	Address: "同一地址的尝试", Register: "同一地址的新账户", Introspect: "同一服务的查询",
	RuleF: "%s 次（%s内）", And: "，且 ",
}

// limits are those of a and b beside each other. A policy without any, before the
// first, is as if it had the default ones: nobody has changed anything then.
func (t *texts) limits(a, b *policy.Policy) []change {
	was, is := a.Limits, b.Limits
	if was == (limit.Limits{}) {
		was = limit.Default()
	}
	all := make([]change, 0, len(limit.Names()))
	for _, name := range limit.Names() {
		all = append(all, change{t.limitName(name), t.rules(was.Of(name)...), t.rules(is.Of(name)...)})
	}
	return all
}
