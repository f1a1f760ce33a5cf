package command

import (
	"cmp"
	"strconv"
)

// CanLimitMemory reports whether Program.Memory is enforced on this system.
const CanLimitMemory = true

// limited returns the command line under its memory limit. A shell sets the limit before it becomes
// the program, so it holds from the first instruction and for all children.
func (p Program) limited() []string {
	kibibytes := strconv.FormatInt(cmp.Or(p.Memory, DefaultMemory)>>10, 10)
	return append([]string{"/bin/sh", "-c", `ulimit -d "$0" && exec "$@"`, kibibytes}, p.Command...)
}
