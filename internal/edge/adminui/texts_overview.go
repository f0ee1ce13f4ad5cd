package adminui

// fleetTexts is what the overview says of instances, of the time that logins
// have left, and of passes of the sweep.
type fleetTexts struct {
	Title, Hint, SumF, MoreF, Self, None        string
	Name, Horizon, Answers, Health              string
	SilentF, WorkerF, RememberedF               string
	HorizonF, HorizonLateF, NoHorizon           string
	AcceptedF, Quiet                            string
	TookF, FailedF                              string
	Clock, ClockGood, ClockAheadF, ClockBehindF string

	Counting, Counted                             string
	Left, LeftHint, LeftSoonF, LeftPeakF, LeftNow string
	LeftNobody, LeftFrom, LeftTo, LeftCount       string
	LeftShare                                     string

	Outcomes    map[string]string // of a pass of the sweep
	RowsFailedF string
}

func englishFleet() fleetTexts {
	return fleetTexts{
		Title: "Instances", Hint: "What each said of itself last. They report every 5 seconds.", SumF: "%d known, %d of them well.",
		MoreF: "%d more are listed by: flakepass remote instances", Self: "this one", None: "No instance has reported yet. Each does within seconds of its start.",
		Name: "Instance", Horizon: "Knows every end up to", Answers: "Who answered, last minute", Health: "Health",
		SilentF: "Not heard of for %s", WorkerF: "Worker number %d", RememberedF: "%s logins remembered",
		HorizonF: "%s ago, of %s allowed", HorizonLateF: "%s ago, more than the %s allowed: it asks the database for every token",
		NoHorizon: "not yet: it asks the database for every token",
		AcceptedF: "%s tokens accepted", Quiet: "No token was accepted",
		TookF: "answers in %s", FailedF: "took %d reports of the last minute too late or not at all",
		Clock: "Clock", ClockGood: "agrees with the database", ClockAheadF: "%s ahead of the database", ClockBehindF: "%s behind the database",

		Counting: "Being counted …", Counted: "Counted at",
		Left: "When logins will be over", LeftHint: "Logins by the time that they have left under the policy in force, if nobody uses them.",
		LeftSoonF: "%s end within an hour, %s within a day.", LeftPeakF: "at most %s in a bar", LeftNow: "now",
		LeftNobody: "Nobody is logged in.", LeftFrom: "More than", LeftTo: "Up to", LeftCount: "Logins", LeftShare: "Share",

		Outcomes: map[string]string{
			"running": "Is running.", "done": "Nothing is left to clear.", "ceiling": "Stopped at its limit; the next goes on.",
			"slow": "Stopped: the database was too slow; the next goes on.", "failed": "Failed; the log of the instance says why. The next tries again.",
			"stopped": "Stopped with its instance; the next goes on.", "lost": "Another instance took over.",
			"abandoned": "Its instance was killed or lost the database; the next goes on.",
		},
		RowsFailedF: "%s rows could not be cleared; the log names them.",
	}
}

func chineseFleet() fleetTexts {
	return fleetTexts{
		Title: "实例", Hint: "各实例最近一次报告的内容。它们每 5 秒报告一次。", SumF: "已知 %d 个，其中 %d 个正常。",
		MoreF: "另有 %d 个，可用此命令列出：flakepass remote instances", Self: "本实例", None: "还没有实例报告。每个实例启动后数秒内都会报告。",
		Name: "实例", Horizon: "已知全部注销的时刻", Answers: "由谁应答（最近一分钟）", Health: "健康状况",
		SilentF: "已有 %s没有消息", WorkerF: "工作节点号 %d", RememberedF: "记住 %s 个登录",
		HorizonF: "%s 前，上限 %s", HorizonLateF: "%s 前，超过上限 %s：每个令牌都查询数据库", NoHorizon: "尚无：每个令牌都查询数据库",
		AcceptedF: "接受了 %s 个令牌", Quiet: "没有接受令牌",
		TookF: "应答用时 %s", FailedF: "最近一分钟有 %d 次报告太迟或未写入",
		Clock: "时钟", ClockGood: "与数据库一致", ClockAheadF: "比数据库快 %s", ClockBehindF: "比数据库慢 %s",

		Counting: "正在统计……", Counted: "统计于",
		Left: "登录将何时结束", LeftHint: "按当前策略下的剩余时间统计登录（假设无人使用）。",
		LeftSoonF: "%s 个将在一小时内结束，%s 个将在一天内结束。", LeftPeakF: "每条最多 %s 个", LeftNow: "现在",
		LeftNobody: "没有人登录。", LeftFrom: "超过", LeftTo: "至多", LeftCount: "登录", LeftShare: "占比",

		Outcomes: map[string]string{
			"running": "正在进行。", "done": "没有剩余需要清除的。", "ceiling": "达到上限而停止；下一次会继续。",
			"slow": "数据库太慢而停止；下一次会继续。", "failed": "失败，原因见该实例的日志。下一次会重试。",
			"stopped": "随其实例停止；下一次会继续。", "lost": "已由另一实例接手。", "abandoned": "其实例被终止或失去数据库；下一次会继续。",
		},
		RowsFailedF: "%s 行无法清除，日志中有说明。",
	}
}
