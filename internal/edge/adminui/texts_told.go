package adminui

import "strings"

// workerUnfit begins what an instance says of its ID worker.
const workerUnfit = "the ID worker is not healthy: "

// told is what another package says, which it says in English, in this language:
// why an instance is not ready, what is wrong with Redis, and the codes of the
// record. What is not known stays as it is.
func (t *texts) told(s string) string {
	if said, ok := t.Told[s]; ok {
		return said
	}
	if what, limit, ok := strings.Cut(s, ": "); ok && t.Told[what] != "" { // a limit, and its name
		return t.Told[what] + ": " + limit
	}
	if rest, ok := strings.CutPrefix(s, workerUnfit); ok && t.Told[workerUnfit] != "" {
		return t.Told[workerUnfit] + t.told(rest)
	}
	if what, where, ok := strings.Cut(s, " ("); ok && t.Told[what] != "" { // Redis, and where it is
		return t.Told[what] + " (" + where
	}
	return s
}

func (t *texts) tellAll(list []string) (said []string) {
	for _, s := range list {
		said = append(said, t.told(s))
	}
	return said
}

func chineseTold() map[string]string {
	return map[string]string{
		"stopping":                     "正在停止",
		"the database does not answer": "数据库没有响应",
		"the settings cannot be read from the database; `flakepass migrate up` brings it to this program's version": "无法从数据库读取设置；请用 `flakepass migrate up` 将其升级到本程序的版本",
		"the database takes no writes; it may be a replica, or set to read only":                                    "数据库不接受写入；它可能是副本，或被设为只读",
		"the range of the worker number cannot be extended; the disk or the database may take no writes":            "无法延长工作节点号的区间；磁盘或数据库可能不接受写入",
		workerUnfit:                               "ID 工作器状态异常：",
		"idworker: number lost to another owner":  "节点号已被其他持有者占用",
		"idworker: every worker number is in use": "所有节点号都已被占用",
		"idworker: no range to mint from":         "没有可用的 ID 区间",
		"does not answer":                         "没有响应",
		"refuses the user or password":            "拒绝此用户或密码",
		"does not permit the user to read and write keys of the form fp:*":                                   "不允许此用户读写 fp:* 形式的键",
		"has sentinels that know no master of that name":                                                     "哨兵不认识此名称的主节点",
		"is not a cluster; begin the URL with redis://":                                                      "不是集群；URL 请以 redis:// 开头",
		"is a cluster; begin the URL with redis+cluster://":                                                  "是集群；URL 请以 redis+cluster:// 开头",
		"is a server that keeps no keys; to reach Redis over sentinels begin the URL with redis+sentinel://": "是不保存键的服务器；若经哨兵访问 Redis，URL 请以 redis+sentinel:// 开头",
		"is a replica, which takes no writes; name its master, or its sentinels":                             "是不接受写入的副本；请指定其主节点或哨兵",
		"refuses what it is asked":                                                                           "拒绝请求",

		"credentials_invalid": "用户名或密码短语错误", "account_disabled": "账户已停用", "password_reset_required": "密码短语太短，需要重设",
		"not_admin": "不是管理员", "rate_limited": "尝试过多", "password_not_confirmed": "密码短语错误", "current_password_invalid": "密码短语错误",
		"current_code_invalid": "缺少验证码或验证码错误", "second_factor_required": "缺少验证码", "second_factor_invalid": "验证码错误",
		"token_expired": "登录已过期", "token_idle_timeout": "登录闲置超时", "token_logged_out": "登录已退出", "token_replaced": "已被新的登录取代",
		"token_revoked": "登录已被终止", "token_invalid": "令牌无效", "credentials_ambiguous": "一个请求中有两个凭据", "cross_origin": "其他网站的表单",
		"validation_failed": "输入不符合要求", "username_taken": "用户名已被占用", "setup_code_invalid": "初始链接无效",
		"the token was revoked": "令牌已被撤销",
		"logged_out":            "退出", "replaced": "被新的登录取代", "revoked": "被终止", "password_changed": "更改密码", "disabled": "停用", "expired": "过期", "idle": "闲置超时",
	}
}
