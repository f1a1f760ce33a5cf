package command

import (
	"cmp"
	"strconv"
)

// LimitsMemory says whether Program.Memory is enforced here.
const LimitsMemory = true

// limited is the command line under its memory limit, which a shell sets before it becomes the
// program: from the first instruction on, and for all children.
func (p Program) limited() []string {
	kibibytes := strconv.FormatInt(cmp.Or(p.Memory, DefaultMemory)>>10, 10)
	return append([]string{"/bin/sh", "-c", `ulimit -d "$0" && exec "$@"`, kibibytes}, p.Command...)
}
