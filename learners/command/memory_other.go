//go:build !linux

package command

import "slices"

// LimitsMemory reports whether Program.Memory is enforced on this system.
const LimitsMemory = false

func (p Program) limited() []string { return slices.Clone(p.Command) }
