//go:build !linux

package command

import "slices"

// LimitsMemory says whether Program.Memory is enforced here.
const LimitsMemory = false

// limited is the command line without a memory limit.
func (p Program) limited() []string { return slices.Clone(p.Command) }
