package adminui

import "strings"

// workerUnfit begins what an instance says of its ID worker.
const workerUnfit = "the ID worker is not healthy: "

// told is what another package says, which it says in English, in this language:
// why an instance is not ready, and what is wrong with Redis. What is not known stays as it is.
func (t *texts) told(s string) string {
	if t.Lang != "zh-Hans" {
		return s
	}
	if said, ok := chineseTold[s]; ok {
		return said
	}
	if rest, ok := strings.CutPrefix(s, workerUnfit); ok && chineseTold[workerUnfit] != "" {
		return chineseTold[workerUnfit] + t.told(rest)
	}
	if what, where, ok := strings.Cut(s, " ("); ok && chineseTold[what] != "" { // Redis, and where it is
		return chineseTold[what] + " (" + where
	}
	return s
}

func (t *texts) tellAll(list []string) (said []string) {
	for _, s := range list {
		said = append(said, t.told(s))
	}
	return said
}

var chineseTold = map[string]string{
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
}
