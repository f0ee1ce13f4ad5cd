module github.com/flakepass/flakepass/idworker

// What the code needs: sync.WaitGroup.Go, and testing/synctest in its tests.
go 1.25.0

// The lenders need no newer ones; where a program has them, it uses those.
require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/redis/go-redis/v9 v9.17.3
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
)
