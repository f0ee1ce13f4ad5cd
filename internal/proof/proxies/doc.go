// Package proxies runs the configurations of docs/proxies in the real proxies,
// between a client that attacks and a service that believes what the proxy says,
// with a real flakepass that answers. It holds tests only.
package proxies
