//go:build !linux

package command

import "slices"

// CanLimitMemory reports whether Program.Memory is enforced on this system.
const CanLimitMemory = false

func (p Program) limited() []string { return slices.Clone(p.Command) }
