//go:build !linux

package command

import "slices"

// LimitsMemory says whether Program.Memory is held here.
const LimitsMemory = false

// limited is the command line; nothing here limits its memory.
func (p Program) limited() []string { return slices.Clone(p.Command) }
