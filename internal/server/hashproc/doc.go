// Package hashproc has passwords hashed by a process beside the server.
//
// A hash of Argon2id occupies a thread for some 25 ms, and Go takes it off that
// thread only after 10 ms. With as many hashes as CPUs a request that needs
// microseconds waits for that several times over. Between processes it is the
// kernel that shares the CPUs, and it lets in at once who has used little. The
// 19 MiB of each hash are collected there, too.
//
// The two talk net/rpc over the standard input and output of the process. That
// it reaches the end of its input is how it learns that the server is gone,
// however the server went.
package hashproc
