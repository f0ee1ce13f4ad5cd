package adminui

// troubleTexts is what the pages say when something went otherwise than meant,
// and the names of what the record tells.
type troubleTexts struct {
	Again, BackTo string  // links of the page that says that the server cannot tell
	Undecided     message // to whoever sent a form
	Lost          string  // to whoever sent a form and was not logged in
	First         string  // the first page of a list
	Correct       string  // in the place of a preview of what cannot be saved
	Uncounted     string  // the same, where the logins could not be counted
	Things        map[string]string
	Kinds         map[string]string // of what something was done to, where it has no name
}

func englishTrouble() troubleTexts {
	return troubleTexts{
		Again: "Try again", BackTo: "Back to the page",
		Undecided: message{"Cannot tell whether that was done", []string{
			"The server cannot reach its database; its log says why. What you sent may have been done or not: " +
				"go back in a moment, look, and send it again if it was not.",
		}, ""},
		Lost:  "What you sent was not done.",
		First: "First page", Correct: "To be seen when that is corrected.", Uncounted: "The logins could not be counted just now. The policy can be changed all the same.",
		Things: map[string]string{
			"role": "role", "disabled_at": "disabled", "idle_timeout_seconds": "idle timeout", "absolute_lifetime_seconds": "absolute lifetime",
			"touch_interval_seconds": "touch interval", "sweep_schedule": "sweep schedule", "session_id": "login", "user_id": "user", "username": "username",
			"last_seen_at": "last seen", "ended": "ended", "ended_error": "ended, give or take",
			"expires_at": "works until", "count": "times", "first_at": "first", "last_at": "last", "reason": "reason", "left": "recovery codes left",
			"targets": "of them done to", "actors": "of them by", "others": "others",
		},
		Kinds: map[string]string{"policy": "policy", "login": "logins", "sweep": "sweep", "user": "user"},
	}
}

func chineseTrouble() troubleTexts {
	return troubleTexts{
		Again: "重试", BackTo: "返回页面",
		Undecided: message{"无法判断操作是否已完成", []string{
			"服务器无法访问其数据库，原因见其日志。您提交的内容可能已执行，也可能没有：请稍后返回查看，若未执行再重新提交。",
		}, ""},
		Lost:  "您提交的操作没有执行。",
		First: "第一页", Correct: "更正后可见。", Uncounted: "暂时无法统计登录数量。策略仍可更改。",
		Things: map[string]string{
			"role": "角色", "disabled_at": "停用时间", "idle_timeout_seconds": "闲置超时", "absolute_lifetime_seconds": "绝对有效期",
			"touch_interval_seconds": "记录间隔", "sweep_schedule": "清理计划", "session_id": "登录", "user_id": "用户", "username": "用户名",
			"last_seen_at": "最近使用", "ended": "已结束", "ended_error": "误差",
			"expires_at": "有效期至", "count": "次数", "first_at": "首次", "last_at": "末次", "reason": "原因", "left": "剩余恢复码",
			"targets": "其中针对", "actors": "其中操作者", "others": "其他",
		},
		Kinds: map[string]string{"policy": "策略", "login": "所有登录", "sweep": "清理", "user": "用户"},
	}
}
