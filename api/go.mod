module github.com/flakepass/flakepass/api

// What the code needs: sync.WaitGroup.Go, and testing/synctest in its tests.
go 1.25.0
