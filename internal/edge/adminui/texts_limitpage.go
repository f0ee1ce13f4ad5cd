package adminui

// limitPageTexts is what the page about limits says.
type limitPageTexts struct {
	Title, Lead, Off, Unreadable         string // of the page
	Hints                                map[string]string
	Count, Per, Rule, Spare              string // at the fields
	Default, DefaultF, DefaultAll        string
	RangeF, EveryF, RateF, LastF         string // what may be typed
	OnceF, OncePerSecondF, OncePerMinute string
	PreviewTitle, Same, Holds, InForceF  string
	NoNumberF, MissingF, OutsideF        string
	Unsorted, TooFastF                   string

	RestoreF string // a box beside the expiry, when going back to a version
}

func englishLimitPage() limitPageTexts {
	return limitPageTexts{
		Title: "Limits",
		Lead:  "How much strangers may try. A change holds at the next attempt, on every instance within a second. It ends no login.",
		Off:   "FLAKEPASS_THROTTLE=off: nothing is limited on this instance, whatever this page says. Remove that setting and start it again.",
		Unreadable: "What is stored of the limits cannot be read. Instances that knew them go on with those, one that starts takes the default ones. " +
			"Save to put this right.",
		Hints: map[string]string{
			"login_place":   "Wrong passphrases for one name from one place. A right one empties it. The rules hold together: a short one is for a slip of the finger, long ones make whoever goes on wait longer and longer.",
			"login_account": "Wrong passphrases for one name from places and devices that are new to the account. A right one empties it. Where the account was used within 90 days, its owner still gets in.",
			"login_address": "Logins from one address, whatever the name. Many people may share an address.",
			"register":      "New accounts from one address. Uses of one-time links are counted by the same rule.",
			"introspect":    "What one service asks about tokens.",
		},
		Count: "How many", Per: "in", Rule: "Rule", Spare: "To leave a rule out, empty both of its fields.",
		Default: "Default", DefaultF: "Default: %s.", DefaultAll: "Everything as by default",
		RangeF: "Allowed: %s to %s, in %s to %s", EveryF: "at least one more every %s", RateF: "at most %s a second", LastF: "the last rule at most one every %s",
		OnceF: "%s at once, then one more every %s", OncePerSecondF: "%s at once, then %s a second", OncePerMinute: "%s at once, then %s a minute",
		PreviewTitle: "What this changes", Same: "This is what is in force.", InForceF: "Version %d of the policy.",
		Holds:     "What was used of a limit stays used, as a share of the whole: a change lets no attacker off.",
		NoNumberF: "%s cannot be read. Type a whole number, and a time such as 1m, 12h or 30d.", MissingF: "%s must have a rule: a number and a time.",
		OutsideF: "%s: this is outside of what is allowed. %s",
		Unsorted: "Each rule needs a longer time and more attempts than the one before, and fewer for the time; else one of them is never reached.",
		TooFastF: "The last rule must allow at most one attempt every %s in the long run, such as %s.",
		RestoreF: "Set back the limits of version %d too",
	}
}

func chineseLimitPage() limitPageTexts {
	return limitPageTexts{
		Title:      "限制",
		Lead:       "陌生人最多可以尝试多少次。更改自下一次尝试起生效，一秒内在所有实例上生效。它不会结束任何登录。",
		Off:        "已设置 FLAKEPASS_THROTTLE=off：无论本页显示什么，本实例都不作任何限制。请移除该设置并重新启动。",
		Unreadable: "无法读取已保存的限制。已知道它们的实例继续沿用，新启动的实例采用默认值。请保存以修正。",
		Hints: map[string]string{
			"login_place":   "同一地点对同一用户名输错密码短语的次数。输对一次即清零。各条规则同时有效：时间短的容许手误，时间长的让持续尝试者等待越来越久。",
			"login_account": "从该账户未用过的地点和设备对同一用户名输错密码短语的次数。输对一次即清零。在账户 90 天内用过的地点，其主人仍可登录。",
			"login_address": "同一地址的登录次数，无论用户名。可能有许多人共用一个地址。",
			"register":      "同一地址新建账户的次数。一次性链接的使用按同一规则另行计数。",
			"introspect":    "一个服务查询令牌的次数。",
		},
		Count: "次数", Per: "时间", Rule: "规则", Spare: "要去掉一条规则，请清空它的两个字段。",
		Default: "默认值", DefaultF: "默认：%s。", DefaultAll: "全部恢复默认值",
		RangeF: "允许范围：%s 到 %s 次，时间 %s到 %s", EveryF: "至少每%s增加一次", RateF: "每秒最多 %s 次", LastF: "最后一条规则最多每%s一次",
		OnceF: "可立即尝试 %s 次，之后每%s增加一次", OncePerSecondF: "可立即尝试 %s 次，之后每秒 %s 次", OncePerMinute: "可立即尝试 %s 次，之后每分钟 %s 次",
		PreviewTitle: "此更改的内容", Same: "与当前生效的相同。", InForceF: "策略第 %d 版。",
		Holds:     "已用掉的额度按比例保留：更改不会让攻击者重新开始。",
		NoNumberF: "%s：无法识别。请输入整数，以及时间，例如 1m、12h 或 30d。", MissingF: "%s：必须有一条规则，即次数和时间。",
		OutsideF: "%s：超出允许范围。%s",
		Unsorted: "每条规则的时间和次数都必须大于前一条，而单位时间的次数必须更少；否则其中一条永远不会起作用。",
		TooFastF: "最后一条规则长期来看最多每%s允许一次，例如%s。",
		RestoreF: "同时恢复第 %d 版的限制",
	}
}
