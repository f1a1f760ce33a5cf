//go:build race

package coordinator

func init() { raced = true }
