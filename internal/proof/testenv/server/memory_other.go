//go:build unix && !linux

package server

// What Memory is asked for on Linux.
const (
	RoomForServers = 0
	RoomForTests   = 0
)

// Memory is a folder that lies in memory: none that could be relied on.
func Memory(uint64) string { return "" }
